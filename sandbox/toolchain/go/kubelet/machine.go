package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	"golang.org/x/sys/unix"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
)

// machine says what the node has. It measures nothing: that takes cgroups.
type machine struct{ cadvisortest.Fake }

func (*machine) MachineInfo() (*cadvisorapi.MachineInfo, error) {
	return &cadvisorapi.MachineInfo{
		NumCores:       runtime.NumCPU(),
		MemoryCapacity: memory(),
		MachineID:      line("/etc/machine-id"),
		SystemUUID:     line("/etc/machine-id"),
		BootID:         line("/proc/sys/kernel/random/boot_id"),
	}, nil
}

func (*machine) VersionInfo() (*cadvisorapi.VersionInfo, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return nil, err
	}
	system := field("/etc/os-release", "PRETTY_NAME=")
	return &cadvisorapi.VersionInfo{
		KernelVersion:      unix.ByteSliceToString(name.Release[:]),
		ContainerOsVersion: strings.Trim(system, `"`),
	}, nil
}

// memory is all of the machine's, in bytes.
func memory() uint64 {
	words := strings.Fields(field("/proc/meminfo", "MemTotal:"))
	if len(words) == 0 {
		return 0
	}
	kilobytes, _ := strconv.ParseUint(words[0], 10, 64)
	return kilobytes * 1024
}

// field is what follows key on its line of a file, "" if there is none.
func field(path, key string) string {
	for _, line := range strings.Split(line(path), "\n") {
		if rest, found := strings.CutPrefix(line, key); found {
			return rest
		}
	}
	return ""
}

// line is a file's text without the last line's end, "" if it cannot be read.
func line(path string) string {
	text, _ := os.ReadFile(path)
	return strings.TrimSpace(string(text))
}
