package main

import (
	"os"
	"runtime"
	"strings"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	cadvisor "github.com/google/cadvisor/machine"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
)

// machine says what the node has. It measures nothing: that takes cgroups.
type machine struct{ cadvisortest.Fake }

func (*machine) MachineInfo() (*cadvisorapi.MachineInfo, error) {
	memory, err := cadvisor.GetMachineMemoryCapacity()
	return &cadvisorapi.MachineInfo{
		NumCores:       runtime.NumCPU(),
		MemoryCapacity: memory,
		MachineID:      text("/etc/machine-id"),
		SystemUUID:     text("/etc/machine-id"),
		BootID:         text("/proc/sys/kernel/random/boot_id"),
	}, err
}

func (*machine) VersionInfo() (*cadvisorapi.VersionInfo, error) {
	return &cadvisorapi.VersionInfo{
		KernelVersion:      cadvisor.KernelVersion(),
		ContainerOsVersion: cadvisor.ContainerOsVersion(),
	}, nil
}

// text is a file's, without the last line's end, "" if it cannot be read.
func text(path string) string {
	content, _ := os.ReadFile(path)
	return strings.TrimSpace(string(content))
}
