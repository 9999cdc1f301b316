package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
)

// processRuntime is a container runtime without containers: a container is a program of this machine in namespaces of
// its own, started by the launcher (sandbox/node/runtime). Networks and images are the node's (node.go). All that it
// knows is in memory, since nothing that it has started outlives it.
type processRuntime struct {
	cri.UnimplementedRuntimeServiceServer
	cri.UnimplementedImageServiceServer
	state, bin string
	launcher   []string
	node       node
	streams    streaming.Server

	mutex      sync.Mutex
	pods       map[string]*pod
	containers map[string]*container
	watchers   map[chan *cri.ContainerEventResponse]struct{}
}

// pod is a Pod's sandbox: its network. namespace: path of it, "" for the node's own.
type pod struct {
	id, address, namespace string
	config                 *cri.PodSandboxConfig
	state                  cri.PodSandboxState
	created                int64
	changed                time.Time
}

// runtimeFromEnvironment is the runtime that the node has described, and the socket to serve it on.
func runtimeFromEnvironment() (*processRuntime, string, error) {
	var launcher []string
	if err := json.Unmarshal([]byte(os.Getenv("SANDBOX_NODE_LAUNCHER")), &launcher); err != nil {
		return nil, "", fmt.Errorf("SANDBOX_NODE_LAUNCHER: %w", err)
	}
	made := &processRuntime{
		state:      os.Getenv("SANDBOX_NODE_STATE"),
		bin:        os.Getenv("SANDBOX_NODE_BIN"),
		launcher:   launcher,
		node:       node{os.Getenv("SANDBOX_NODE_NETWORK")},
		pods:       map[string]*pod{},
		containers: map[string]*container{},
		watchers:   map[chan *cri.ContainerEventResponse]struct{}{},
	}
	return made, os.Getenv("SANDBOX_NODE_CRI"), nil
}

// serve answers kubelet on a socket, and streams of its clients on a port of the loopback.
func (r *processRuntime) serve(socket string) error {
	loopback, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	settings := streaming.DefaultConfig
	settings.Addr = loopback.Addr().String()
	if r.streams, err = streaming.NewServer(settings, streamer{r}); err != nil {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, r)
	cri.RegisterImageServiceServer(server, r)
	go r.refresh()
	go func() { fail(server.Serve(listener)) }()
	go func() { fail(http.Serve(loopback, r.streams)) }()
	return nil
}

func (r *processRuntime) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: "process", RuntimeVersion: "none", RuntimeApiVersion: "v1"}, nil
}

func (r *processRuntime) Status(context.Context, *cri.StatusRequest) (*cri.StatusResponse, error) {
	return &cri.StatusResponse{Status: &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{
		{Type: "RuntimeReady", Status: true}, {Type: "NetworkReady", Status: true},
	}}}, nil
}

func (r *processRuntime) RuntimeConfig(context.Context, *cri.RuntimeConfigRequest) (*cri.RuntimeConfigResponse, error) {
	return &cri.RuntimeConfigResponse{}, nil
}

func (r *processRuntime) RunPodSandbox(_ context.Context, request *cri.RunPodSandboxRequest) (*cri.RunPodSandboxResponse, error) {
	if err := os.MkdirAll(request.Config.LogDirectory, 0o755); err != nil {
		return nil, err
	}
	made := &pod{id: rand.Text(), config: request.Config, created: time.Now().UnixNano()}
	if !onNodesNetwork(request.Config) {
		var err error
		if made.address, made.namespace, err = r.node.connect(made.id, request.Config); err != nil {
			return nil, err
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.pods[made.id] = made
	r.tell(made, made.id, cri.ContainerEventType_CONTAINER_STARTED_EVENT)
	return &cri.RunPodSandboxResponse{PodSandboxId: made.id}, nil
}

func (r *processRuntime) StopPodSandbox(
	_ context.Context, request *cri.StopPodSandboxRequest,
) (*cri.StopPodSandboxResponse, error) {
	found, own := r.podAndContainers(request.PodSandboxId)
	if found == nil {
		return &cri.StopPodSandboxResponse{}, nil
	}
	for _, one := range own {
		one.stop(0)
	}
	if found.namespace != "" {
		if err := r.node.disconnect(found.id); err != nil {
			return nil, err
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if found.state != cri.PodSandboxState_SANDBOX_NOTREADY {
		found.state = cri.PodSandboxState_SANDBOX_NOTREADY
		r.tell(found, found.id, cri.ContainerEventType_CONTAINER_STOPPED_EVENT)
	}
	return &cri.StopPodSandboxResponse{}, nil
}

func (r *processRuntime) RemovePodSandbox(
	ctx context.Context, request *cri.RemovePodSandboxRequest,
) (*cri.RemovePodSandboxResponse, error) {
	if _, err := r.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: request.PodSandboxId}); err != nil {
		return nil, err
	}
	found, own := r.podAndContainers(request.PodSandboxId)
	if found == nil {
		return &cri.RemovePodSandboxResponse{}, nil
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, one := range own {
		delete(r.containers, one.id)
	}
	r.tell(found, found.id, cri.ContainerEventType_CONTAINER_DELETED_EVENT)
	delete(r.pods, found.id)
	return &cri.RemovePodSandboxResponse{}, nil
}

func (r *processRuntime) PodSandboxStatus(
	_ context.Context, request *cri.PodSandboxStatusRequest,
) (*cri.PodSandboxStatusResponse, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	found := r.pods[request.PodSandboxId]
	if found == nil {
		return nil, notFound("Pod", request.PodSandboxId)
	}
	return &cri.PodSandboxStatusResponse{Status: found.status()}, nil
}

func (r *processRuntime) ListPodSandbox(
	_ context.Context, request *cri.ListPodSandboxRequest,
) (*cri.ListPodSandboxResponse, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	filter := request.GetFilter()
	response := &cri.ListPodSandboxResponse{}
	for _, one := range r.pods {
		if filter.GetId() != "" && filter.Id != one.id ||
			filter.GetState() != nil && filter.State.State != one.state ||
			!selected(filter.GetLabelSelector(), one.config.Labels) {
			continue
		}
		response.Items = append(response.Items, &cri.PodSandbox{
			Id: one.id, Metadata: one.config.Metadata, State: one.state, CreatedAt: one.created,
			Labels: one.config.Labels, Annotations: one.config.Annotations,
		})
	}
	return response, nil
}

// status is called with the mutex held.
func (p *pod) status() *cri.PodSandboxStatus {
	options := p.config.GetLinux().GetSecurityContext().GetNamespaceOptions()
	return &cri.PodSandboxStatus{
		Id: p.id, Metadata: p.config.Metadata, State: p.state, CreatedAt: p.created,
		Network:     &cri.PodSandboxNetworkStatus{Ip: p.address},
		Linux:       &cri.LinuxPodSandboxStatus{Namespaces: &cri.Namespace{Options: options}},
		Labels:      p.config.Labels,
		Annotations: p.config.Annotations,
	}
}

func (r *processRuntime) podAndContainers(id string) (*pod, []*container) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.pods[id], r.containersOf(id)
}

// containersOf is called with the mutex held.
func (r *processRuntime) containersOf(podID string) []*container {
	var own []*container
	for _, one := range r.containers {
		if one.pod.id == podID {
			own = append(own, one)
		}
	}
	return own
}

func onNodesNetwork(config *cri.PodSandboxConfig) bool {
	return config.GetLinux().GetSecurityContext().GetNamespaceOptions().GetNetwork() == cri.NamespaceMode_NODE
}

// selected says whether labels have all of the selector's.
func selected(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}

func notFound(kind, id string) error { return status.Errorf(codes.NotFound, "no %s %q", kind, id) }
