// Command xds_clients connects to one istiod as many proxies do, and records the arrival of numbered changes.
//
// Each client has a connection of its own (TLS with a client certificate) and an incremental ADS stream, and requests
// clusters, endpoints, listeners and routes, as Istio's agent does for Envoy. It acknowledges each answer and keeps no
// configuration, so many clients fit beside istiod.
//
// A change has a number in its own bytes: the address 10.201.x.y of an endpoint, or the name churn-N of a Service. istiod
// may merge changes, so a client that receives change N has all changes up to N.
//
// Prints one line of JSON when all clients have their first configuration, one for each line "KIND NUMBER" of its standard
// input when all have that change, and one with all arrivals when the input ends.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listener "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	http "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	clusters  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	endpoints = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	listeners = "type.googleapis.com/envoy.config.listener.v3.Listener"
	routes    = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"

	limit = 5 * time.Minute
)

var (
	address     = flag.String("address", "", "host:port of istiod")
	server      = flag.String("server", "", "istiod's name in its certificate")
	root        = flag.String("root", "", "file with the root certificate")
	certificate = flag.String("certificate", "", "file with certificate, chain and key")
	clusterID   = flag.String("cluster", "", "Istio's name of the proxies' cluster")
	namespace   = flag.String("namespace", "", "the proxies' namespace")
	account     = flag.String("account", "", "the proxies' ServiceAccount")
	count       = flag.Int("count", 1, "number of proxies")
	rate        = flag.Float64("rate", 20, "new connections per second")
)

// client is one proxy. Only its own goroutine writes to it while a stream is open.
type client struct {
	number   int
	received map[string]bool // types with a first answer
	lock     sync.Mutex
	arrivals map[string]map[int]float64 // kind, number of the change: Unix seconds
	last     map[string]int
}

type totals struct {
	connections, ended, answers, bytes atomic.Int64
	lock                               sync.Mutex
	reasons                            map[string]int
}

var all = totals{reasons: map[string]int{}}

func main() {
	flag.Parse()
	log.SetFlags(0)
	secured := credentials.NewTLS(configuration())
	ctx, stop := context.WithCancel(context.Background())
	made := make([]*client, *count)
	ready := make(chan struct{}, *count)
	began := time.Now()
	for number := range made {
		made[number] = &client{number: number, arrivals: map[string]map[int]float64{}, last: map[string]int{}}
		go func() {
			// One after the other: istiod limits new connections.
			pause(ctx, time.Duration(float64(number) / *rate * float64(time.Second)))
			made[number].run(ctx, secured, sync.OnceFunc(func() { ready <- struct{}{} }))
		}()
	}
	for range made {
		select {
		case <-ready:
		case <-time.After(limit):
			log.Fatalf("not all clients were ready: %d connections, %v", all.connections.Load(), all.reasons)
		}
	}
	write(map[string]any{"ready": len(made), "seconds": time.Since(began).Seconds(), "bytes": all.bytes.Load()})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		kind, number, _ := strings.Cut(lines.Text(), " ")
		wanted, err := strconv.Atoi(number)
		if err != nil {
			log.Fatal(err)
		}
		write(map[string]any{"missing": wait(made, kind, wanted)})
	}
	streams := all.ended.Load()
	stop()
	arrivals := map[string][]map[int]float64{}
	for _, one := range made {
		one.lock.Lock()
		for kind, found := range one.arrivals {
			arrivals[kind] = append(arrivals[kind], found)
		}
	}
	all.lock.Lock()
	write(map[string]any{
		"arrivals": arrivals, "ended": streams, "answers": all.answers.Load(), "bytes": all.bytes.Load(), "reasons": all.reasons,
	})
}

// wait returns the number of clients without this change, none or those of the end of the limit.
func wait(made []*client, kind string, number int) int {
	for until := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) {
		missing := 0
		for _, one := range made {
			one.lock.Lock()
			if one.last[kind] < number {
				missing++
			}
			one.lock.Unlock()
		}
		if missing == 0 || time.Now().After(until) {
			return missing
		}
	}
}

func configuration() *tls.Config {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(read(*root)) {
		log.Fatalf("%s has no certificate", *root)
	}
	content := read(*certificate)
	pair, err := tls.X509KeyPair(content, content)
	if err != nil {
		log.Fatal(err)
	}
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, ServerName: *server, MinVersion: tls.VersionTLS12}
}

func read(name string) []byte {
	content, err := os.ReadFile(name)
	if err != nil {
		log.Fatal(err)
	}
	return content
}

func write(line any) {
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		log.Fatal(err)
	}
}

func pause(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}

// run keeps a stream open until the context ends.
func (c *client) run(ctx context.Context, secured credentials.TransportCredentials, ready func()) {
	for ctx.Err() == nil {
		err := c.stream(ctx, secured, ready)
		if ctx.Err() != nil {
			return
		}
		all.ended.Add(1)
		all.lock.Lock()
		all.reasons[err.Error()]++
		all.lock.Unlock()
		pause(ctx, time.Second)
	}
}

// stream handles one connection until it ends.
func (c *client) stream(ctx context.Context, secured credentials.TransportCredentials, ready func()) error {
	connection, err := grpc.NewClient("passthrough:///"+*address,
		grpc.WithTransportCredentials(secured), grpc.WithNoProxy(), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30)))
	if err != nil {
		return err
	}
	defer connection.Close()
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(ctx)
	if err != nil {
		return err
	}
	all.connections.Add(1)
	c.received = map[string]bool{}
	for _, kind := range []string{clusters, listeners} {
		// Without names: all of them.
		if err := stream.Send(&discovery.DeltaDiscoveryRequest{Node: node(c.number), TypeUrl: kind}); err != nil {
			return err
		}
	}
	for {
		answer, err := stream.Recv()
		if err != nil {
			return err
		}
		now := float64(time.Now().UnixNano()) / 1e9
		requests, err := c.take(answer, now)
		if err != nil {
			return err
		}
		for _, one := range requests {
			if err := stream.Send(one); err != nil {
				return err
			}
		}
		if len(c.received) == 4 {
			ready()
		}
	}
}

func node(number int) *core.Node {
	text := structpb.NewStringValue
	fields := map[string]*structpb.Value{
		"NAMESPACE": text(*namespace), "SERVICE_ACCOUNT": text(*account), "CLUSTER_ID": text(*clusterID),
		"ISTIO_VERSION": text("1.31.1"),
	}
	name := fmt.Sprintf("%s-%d.%s", *account, number, *namespace)
	host := fmt.Sprintf("10.202.%d.%d", number/250, number%250+1)
	return &core.Node{
		Id:       fmt.Sprintf("sidecar~%s~%s~%s.svc.cluster.local", host, name, *namespace),
		Metadata: &structpb.Struct{Fields: fields},
	}
}

// take records an answer, and returns its acknowledgement and the subscriptions that follow from it.
func (c *client) take(answer *discovery.DeltaDiscoveryResponse, now float64) ([]*discovery.DeltaDiscoveryRequest, error) {
	all.answers.Add(1)
	c.received[answer.TypeUrl] = true
	requests := []*discovery.DeltaDiscoveryRequest{{TypeUrl: answer.TypeUrl, ResponseNonce: answer.Nonce}}
	var names []string
	follows := map[string]string{clusters: endpoints, listeners: routes}[answer.TypeUrl]
	for _, resource := range answer.Resources {
		content := resource.Resource.Value
		all.bytes.Add(int64(len(content)))
		switch answer.TypeUrl {
		case clusters:
			if _, after, found := strings.Cut(resource.Name, "|churn-"); found {
				name, _, _ := strings.Cut(after, ".")
				c.arrived("services", name, now)
			}
			one := &cluster.Cluster{}
			if err := resource.Resource.UnmarshalTo(one); err != nil {
				return nil, err
			}
			if one.GetType() == cluster.Cluster_EDS {
				names = append(names, one.Name)
			}
		case listeners:
			found, err := routesOf(resource)
			if err != nil {
				return nil, err
			}
			names = append(names, found...)
		case endpoints:
			c.endpoints(content, now)
		}
	}
	if follows != "" && len(names) > 0 {
		requests = append(requests, &discovery.DeltaDiscoveryRequest{TypeUrl: follows, ResourceNamesSubscribe: names})
	}
	return requests, nil
}

func routesOf(resource *discovery.Resource) ([]string, error) {
	one := &listener.Listener{}
	if err := resource.Resource.UnmarshalTo(one); err != nil {
		return nil, err
	}
	var names []string
	chains := one.FilterChains
	if one.DefaultFilterChain != nil {
		chains = append(chains, one.DefaultFilterChain)
	}
	for _, chain := range chains {
		for _, filter := range chain.Filters {
			manager := &http.HttpConnectionManager{}
			if config := filter.GetTypedConfig(); config.MessageIs(manager) {
				if err := config.UnmarshalTo(manager); err != nil {
					return nil, err
				}
				if name := manager.GetRds().GetRouteConfigName(); name != "" {
					names = append(names, name)
				}
			}
		}
	}
	return names, nil
}

var marker = []byte("10.201.")

// endpoints finds addresses 10.201.x.y, which are the change x*250+y-1.
func (c *client) endpoints(content []byte, now float64) {
	for {
		at := bytes.Index(content, marker)
		if at < 0 {
			return
		}
		content = content[at+len(marker):]
		var high, low int
		if _, err := fmt.Sscanf(string(content[:min(len(content), 7)]), "%d.%d", &high, &low); err == nil {
			c.arrived("endpoints", strconv.Itoa(high*250+low-1), now)
		}
	}
}

// arrived records that the client has this change and all before it.
func (c *client) arrived(kind, text string, now float64) {
	number, err := strconv.Atoi(text)
	if err != nil {
		return
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.arrivals[kind] == nil {
		c.arrivals[kind] = map[int]float64{}
	}
	for one := c.last[kind] + 1; one <= number; one++ {
		c.arrivals[kind][one] = now
	}
	c.last[kind] = max(c.last[kind], number)
}
