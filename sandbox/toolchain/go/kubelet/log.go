package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const longestLine = 16 * 1024 // as other runtimes have it; what is longer is written in parts

// logFile is a container's log, in the form that kubelet reads.
type logFile struct {
	path  string
	mutex sync.Mutex
	file  *os.File
}

// logStream is a pipe whose lines are written to a log. writer: for the program. done: closed when all is written.
type logStream struct {
	writer *os.File
	done   chan struct{}
}

// open opens it anew, where kubelet has moved it away.
func (l *logFile) open() error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.file.Close() // nothing happens where none is open
	l.file = file
	return nil
}

func (l *logFile) close() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.file.Close()
}

func (l *logFile) write(stream, tag string, text []byte) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	fmt.Fprintf(l.file, "%s %s %s %s\n", time.Now().UTC().Format(time.RFC3339Nano), stream, tag, text)
}

func (l *logFile) stream(name string) (*logStream, error) {
	reading, writing, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	made := &logStream{writing, make(chan struct{})}
	go func() {
		defer close(made.done)
		defer reading.Close()
		lines := bufio.NewReaderSize(reading, longestLine)
		for {
			text, partial, err := lines.ReadLine()
			if err != nil {
				if err != io.EOF {
					fmt.Fprintln(os.Stderr, "log:", err)
				}
				return
			}
			l.write(name, map[bool]string{true: "P", false: "F"}[partial], text)
		}
	}()
	return made, nil
}
