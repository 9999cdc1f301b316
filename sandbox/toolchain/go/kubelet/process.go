package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const slowReader = 10 * time.Second

// document is what the launcher is told (sandbox/node/runtime/launcher.py). Join and Argv are of a further process in a
// container that runs.
type document struct {
	Container *cri.ContainerConfig  `json:"container"`
	Sandbox   *cri.PodSandboxConfig `json:"sandbox"`
	Bin       string                `json:"bin_dir"`
	State     string                `json:"state"`
	Argv      []string              `json:"argv"`
	Join      *int                  `json:"join_pid"`
	Tty       bool                  `json:"tty"`
}

// process is a container's first one, or a further one in it (joined), whose launcher stays and ends as it does.
type process struct {
	target   *os.Process
	launcher *exec.Cmd
	joined   bool
}

// launch starts a container's program, or argv in one that runs, and returns once it runs. tty: stdin is a terminal.
func (r *processRuntime) launch(
	in *container, argv []string, tty bool, stdin io.Reader, stdout, stderr io.Writer,
) (*process, error) {
	told := document{in.config, in.pod.config, r.bin, r.state, argv, nil, tty}
	if argv != nil {
		told.Join = &in.process.target.Pid
	}
	text, err := json.Marshal(told)
	if err != nil {
		return nil, err
	}
	var passed []*os.File
	defer func() { closeAll(passed) }()
	reading, writing, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer writing.Close()
	passed = append(passed, reading)
	report, reporting, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer report.Close()
	passed = append(passed, reporting)
	if argv == nil && in.pod.namespace != "" {
		network, err := os.Open(in.pod.namespace)
		if err != nil {
			return nil, err
		}
		passed = append(passed, network)
	}
	command := exec.Command(r.launcher[0], r.launcher[1:]...)
	for number := range passed {
		command.Args = append(command.Args, strconv.Itoa(3+number))
	}
	command.ExtraFiles, command.Dir = passed, "/"
	command.WaitDelay = slowReader // what a program leaves behind may hold its output open
	command.Stdout, command.Stderr = stdout, stderr
	if tty {
		command.Stdin = stdin
	} else if stdin != nil { // not as command.Stdin: then the program's end would wait for the end of its input
		input, err := command.StdinPipe()
		if err != nil {
			return nil, err
		}
		go func() {
			io.Copy(input, stdin)
			input.Close()
		}()
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	closeAll(passed)
	passed = nil
	writing.Write(text) // if the launcher has died, its report says so
	writing.Close()
	said, _ := io.ReadAll(report)
	first, trouble, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		command.Wait()
		return nil, fmt.Errorf("not started: %s", cmp.Or(first, "the launcher said nothing"))
	}
	target, err := os.FindProcess(pid)
	if err != nil {
		return nil, err
	}
	made := &process{target, command, argv != nil}
	if trouble != "" && !made.joined { // of a further process it is written to its stderr
		made.wait()
		return nil, errors.New(trouble)
	}
	return made, nil
}

// signal does nothing if the process has ended.
func (p *process) signal(number syscall.Signal) { p.target.Signal(number) }

// wait returns the exit code, or 128 and the number of the signal that has ended it.
func (p *process) wait() int32 {
	p.launcher.Wait() // a container's ends at once, and its child is ours from then on
	state := p.launcher.ProcessState
	if !p.joined {
		var err error
		if state, err = p.target.Wait(); err != nil {
			return 255
		}
	}
	status := state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int32(status.Signal())
	}
	return int32(status.ExitStatus())
}

func closeAll(files []*os.File) {
	for _, file := range files {
		file.Close()
	}
}
