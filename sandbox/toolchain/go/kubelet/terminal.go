package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// openTerminal makes a terminal: our end of it, and the program's.
func openTerminal() (ours, programs *os.File, err error) {
	ours, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	number := ours.Fd()
	if err := unix.IoctlSetPointerInt(int(number), unix.TIOCSPTLCK, 0); err != nil {
		ours.Close()
		return nil, nil, err
	}
	peer, _, failed := unix.Syscall(unix.SYS_IOCTL, number, unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if failed != 0 {
		ours.Close()
		return nil, nil, failed
	}
	return ours, os.NewFile(peer, "terminal"), nil
}

// connect passes on what is typed, and the window's size; what the program writes until its end.
func connect(terminal *os.File, in io.Reader, out io.Writer, sizes <-chan remotecommand.TerminalSize) {
	go io.Copy(terminal, in)
	go func() {
		for size := range sizes {
			unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Height, Col: size.Width})
		}
	}()
	io.Copy(out, terminal) // ends with an error when nobody has the other end any more
}
