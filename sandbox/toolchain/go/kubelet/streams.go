package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	goruntime "runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const forever = 1 << 30 // seconds

// ExecSync runs a probe or a hook.
func (r *processRuntime) ExecSync(_ context.Context, request *cri.ExecSyncRequest) (*cri.ExecSyncResponse, error) {
	found, err := r.running(request.ContainerId)
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	started, err := r.launch(found, request.Cmd, false, nil, &stdout, &stderr)
	if err != nil {
		return nil, err
	}
	limit := time.Duration(cmp.Or(request.Timeout, forever)) * time.Second
	timer := time.AfterFunc(limit, func() { started.signal(syscall.SIGKILL) })
	code := started.wait()
	if !timer.Stop() {
		return nil, status.Errorf(codes.DeadlineExceeded, "command %q timed out", request.Cmd)
	}
	return &cri.ExecSyncResponse{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), ExitCode: code}, nil
}

func (r *processRuntime) Exec(_ context.Context, request *cri.ExecRequest) (*cri.ExecResponse, error) {
	if _, err := r.running(request.ContainerId); err != nil {
		return nil, err
	}
	return r.streams.GetExec(request)
}

func (r *processRuntime) PortForward(_ context.Context, request *cri.PortForwardRequest) (*cri.PortForwardResponse, error) {
	return r.streams.GetPortForward(request)
}

// streamer carries out what clients of the streaming server ask for.
type streamer struct{ *processRuntime }

func (s streamer) Exec(ctx context.Context, id string, argv []string, in io.Reader, out, err io.WriteCloser, tty bool,
	sizes <-chan remotecommand.TerminalSize) error {
	found, trouble := s.running(id)
	if trouble != nil {
		return trouble
	}
	stdin, stdout, stderr := in, io.Writer(out), io.Writer(err)
	var terminal, programs *os.File
	if tty {
		if terminal, programs, trouble = openTerminal(); trouble != nil {
			return trouble
		}
		defer terminal.Close()
		stdin, stdout, stderr = programs, programs, programs
	}
	started, trouble := s.launch(found, argv, tty, stdin, stdout, stderr)
	programs.Close() // nothing where there is none
	if trouble != nil {
		return trouble
	}
	defer context.AfterFunc(ctx, func() { started.signal(syscall.SIGKILL) })()
	if tty {
		connect(terminal, in, out, sizes)
	}
	if code := started.wait(); code != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("exit code %d", code), Code: int(code)}
	}
	return nil
}

func (s streamer) Attach(context.Context, string, io.Reader, io.WriteCloser, io.WriteCloser, bool,
	<-chan remotecommand.TerminalSize) error {
	return status.Error(codes.Unimplemented, "attach")
}

func (s streamer) PortForward(_ context.Context, id string, port int32, stream io.ReadWriteCloser) error {
	found, _ := s.podAndContainers(id)
	if found == nil {
		return notFound("Pod", id)
	}
	defer stream.Close()
	connection, err := dial(found.namespace, port)
	if err != nil {
		return err
	}
	defer connection.Close()
	go func() {
		io.Copy(connection, stream)
		connection.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, connection)
	return err
}

// dial connects to a port of the loopback of a network namespace, "" for this one.
func dial(namespace string, port int32) (connection net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if namespace != "" {
			goruntime.LockOSThread() // for good: the thread ends with this function
			var network *os.File
			if network, err = os.Open(namespace); err != nil {
				return
			}
			defer network.Close()
			if err = unix.Setns(int(network.Fd()), unix.CLONE_NEWNET); err != nil {
				return
			}
		}
		connection, err = net.DialTimeout("tcp4", fmt.Sprintf("127.0.0.1:%d", port), 10*time.Second)
	}()
	<-done
	return connection, err
}
