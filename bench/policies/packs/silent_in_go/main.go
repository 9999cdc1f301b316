// A policy pack that never says anything, in the engine's own language with its own gRPC: what the engine takes for any
// pack, two calls for each resource, one after the other.
package main

import (
	"context"
	"fmt"
	"log"
	"net"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

const largestMessage = 400 << 20

type silent struct {
	pulumirpc.UnimplementedAnalyzerServer
}

func (silent) GetAnalyzerInfo(context.Context, *emptypb.Empty) (*pulumirpc.AnalyzerInfo, error) {
	return &pulumirpc.AnalyzerInfo{Name: "silent", Version: "1.0.0", SupportsConfig: true}, nil
}

func (silent) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: "1.0.0"}, nil
}

func (silent) Configure(context.Context, *pulumirpc.ConfigureAnalyzerRequest) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
}

func (silent) Remediate(context.Context, *pulumirpc.AnalyzeRequest) (*pulumirpc.RemediateResponse, error) {
	return &pulumirpc.RemediateResponse{}, nil
}

func (silent) Analyze(context.Context, *pulumirpc.AnalyzeRequest) (*pulumirpc.AnalyzeResponse, error) {
	return &pulumirpc.AnalyzeResponse{}, nil
}

func (silent) AnalyzeStack(context.Context, *pulumirpc.AnalyzeStackRequest) (*pulumirpc.AnalyzeResponse, error) {
	return &pulumirpc.AnalyzeResponse{}, nil
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(largestMessage))
	pulumirpc.RegisterAnalyzerServer(server, silent{})
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(server.Serve(listener))
}
