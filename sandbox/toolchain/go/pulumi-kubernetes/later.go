package main

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	_ "unsafe" // for go:linkname

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What v4.29.0 changed of what this project asks of the plug-in, which is older:
//   - Create fails for an object that is there already, unless the provider has `upsertExistingObjects`. Before, it took
//     over whatever it found.
//   - The provider has `enablePatchForce`. Before, there was a variable of the environment alone.

// The plug-in makes its own server and takes no options for it.
//
//go:linkname addGlobalServerOptions google.golang.org/grpc/internal.AddGlobalServerOptions
var addGlobalServerOptions any

var upserts atomic.Bool // as the provider was configured

func behaveAsLaterOnes() {
	addGlobalServerOptions.(func(...grpc.ServerOption))(grpc.ChainUnaryInterceptor(intercept))
}

func intercept(ctx context.Context, request any, to *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	switch asked := request.(type) {
	case *pulumirpc.ConfigureRequest:
		settings := asked.GetVariables()
		upserts.Store(settings["kubernetes:config:upsertExistingObjects"] == "true")
		if settings["kubernetes:config:enablePatchForce"] == "true" {
			if err := os.Setenv("PULUMI_K8S_ENABLE_PATCH_FORCE", "true"); err != nil {
				return nil, err
			}
		}
	case *pulumirpc.CreateRequest:
		served, ok := to.Server.(pulumirpc.ResourceProviderServer)
		if ok && !asked.GetPreview() && !upserts.Load() && exists(ctx, served, asked) {
			return nil, status.Errorf(codes.AlreadyExists,
				"resource %q was not successfully created by the Kubernetes API server: %q already exists",
				asked.GetUrn(), identity(asked))
		}
	}
	return handle(ctx, request)
}

// exists reads the object as `pulumi import` does.
func exists(ctx context.Context, served pulumirpc.ResourceProviderServer, asked *pulumirpc.CreateRequest) bool {
	kind := strings.SplitN(asked.GetUrn(), "::", 4)[2]
	id := identity(asked)
	if id == "" || strings.HasSuffix(kind, "Patch") {
		return false
	}
	found, err := served.Read(ctx, &pulumirpc.ReadRequest{Urn: asked.GetUrn(), Id: id})
	for _, detail := range status.Convert(err).Details() {
		if _, ok := detail.(*pulumirpc.ErrorResourceInitFailed); ok {
			return true // there, and not ready
		}
	}
	return found.GetId() != ""
}

// identity is the id that the object will have; "" where the API server is to find a name.
func identity(asked *pulumirpc.CreateRequest) string {
	metadata := asked.GetProperties().GetFields()["metadata"].GetStructValue().GetFields()
	name, namespace := metadata["name"].GetStringValue(), metadata["namespace"].GetStringValue()
	if name == "" || namespace == "" {
		return name
	}
	return namespace + "/" + name
}
