// Kubernetes' own kubelet, as a node of the sandbox.
//
// Its flags and its configuration file are kubelet's. Two parts are ours: the container runtime, which runs programs of
// this machine (runtime.go), and what says how large the machine is (machine.go). There need be no cgroups, so the
// container manager is the one of Kubernetes' own scale tests (kubemark), which enforces no limits.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/version/verflag"
	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/kubeletconfig/configfiles"
	utilfs "k8s.io/kubernetes/pkg/util/filesystem"
)

func main() {
	fail(run(context.Background()))
}

// fail ends the process, and with it the node, which is then started again.
func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	server, err := settings(ctx, os.Args[1:])
	if err != nil {
		return err
	}
	containers, socket, err := runtimeFromEnvironment()
	if err != nil {
		return err
	}
	// The programs that launchers leave behind become children of this process.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := containers.serve(socket); err != nil {
		return fmt.Errorf("container runtime: %w", err)
	}
	dependencies, err := app.UnsecuredDependencies(ctx, server, utilfeature.DefaultFeatureGate)
	if err != nil {
		return err
	}
	dependencies.ContainerManager = cm.NewStubContainerManager()
	dependencies.CAdvisorInterface = &machine{}
	dependencies.VolumePlugins = ofOneUser(dependencies.VolumePlugins)
	dependencies.DynamicPluginProber = nil // it watches a folder, and the kernel lets each user watch 128 times
	return app.Run(ctx, server, dependencies, utilfeature.DefaultFeatureGate)
}

// settings reads flags and the file that --config names; --version prints it and exits.
func settings(ctx context.Context, arguments []string) (*options.KubeletServer, error) {
	flags := options.NewKubeletFlags()
	set := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	set.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	flags.AddFlags(set)
	options.AddGlobalFlags(set)
	if err := set.Parse(arguments); err != nil {
		return nil, err
	}
	verflag.PrintAndExitIfRequested()
	loader, err := configfiles.NewFsLoader(&utilfs.DefaultFs{}, flags.KubeletConfigFile)
	if err != nil {
		return nil, err
	}
	configuration, err := loader.Load(ctx)
	if err != nil {
		return nil, err
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(configuration.FeatureGates); err != nil {
		return nil, err
	}
	return &options.KubeletServer{KubeletFlags: *flags, KubeletConfiguration: *configuration}, nil
}
