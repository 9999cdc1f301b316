package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// container is one program's life. exited is closed when it has ended and its log is complete.
type container struct {
	id, image                  string
	pod                        *pod
	config                     *cri.ContainerConfig
	state                      cri.ContainerState
	created, started, finished int64
	process                    *process
	code                       int32
	reason, message            string
	log                        *logFile
	exited                     chan struct{}
}

func (r *processRuntime) CreateContainer(
	_ context.Context, request *cri.CreateContainerRequest,
) (*cri.CreateContainerResponse, error) {
	// Kubelet gives the image's id, by which nothing could be found; who starts the container needs the name, too.
	reference := cmp.Or(request.Config.GetImage().GetUserSpecifiedImage(), request.Config.GetImage().GetImage())
	image, err := r.node.image(reference)
	if err != nil {
		return nil, err
	}
	request.Config.Image = &cri.ImageSpec{Image: reference}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	owner := r.pods[request.PodSandboxId]
	if owner == nil {
		return nil, notFound("Pod", request.PodSandboxId)
	}
	made := &container{
		id: rand.Text(), image: image.ID, pod: owner, config: request.Config, created: time.Now().UnixNano(),
		log:    &logFile{path: filepath.Join(owner.config.LogDirectory, request.Config.LogPath)},
		exited: make(chan struct{}),
	}
	r.containers[made.id] = made
	r.tell(owner, made.id, cri.ContainerEventType_CONTAINER_CREATED_EVENT)
	return &cri.CreateContainerResponse{ContainerId: made.id}, nil
}

func (r *processRuntime) StartContainer(
	_ context.Context, request *cri.StartContainerRequest,
) (*cri.StartContainerResponse, error) {
	found, err := r.container(request.ContainerId)
	if err != nil {
		return nil, err
	}
	if err := found.log.open(); err != nil {
		return nil, err
	}
	out, err := found.log.stream("stdout")
	if err != nil {
		return nil, err
	}
	errors, err := found.log.stream("stderr")
	if err != nil {
		return nil, err
	}
	started, err := r.launch(found, nil, false, nil, out.writer, errors.writer)
	out.writer.Close()
	errors.writer.Close()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	found.started = time.Now().UnixNano()
	if err != nil {
		found.end(128, "StartError", err.Error())
		r.tell(found.pod, found.id, cri.ContainerEventType_CONTAINER_STOPPED_EVENT)
		return nil, err
	}
	found.process, found.state = started, cri.ContainerState_CONTAINER_RUNNING
	go r.follow(found, out, errors)
	r.tell(found.pod, found.id, cri.ContainerEventType_CONTAINER_STARTED_EVENT)
	return &cri.StartContainerResponse{}, nil
}

// follow waits for the end of a container's program and of what it has written.
func (r *processRuntime) follow(running *container, streams ...*logStream) {
	code := running.process.wait()
	for _, one := range streams {
		<-one.done
	}
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	running.end(code, reason, "")
	r.tell(running.pod, running.id, cri.ContainerEventType_CONTAINER_STOPPED_EVENT)
}

// end is called with the mutex held.
func (c *container) end(code int32, reason, message string) {
	c.state, c.finished = cri.ContainerState_CONTAINER_EXITED, time.Now().UnixNano()
	c.code, c.reason, c.message = code, reason, message
	c.log.close()
	close(c.exited)
}

// stop ends the program: SIGTERM, and SIGKILL after the grace. The kernel ends the rest of its namespace with it.
func (c *container) stop(grace time.Duration) {
	if c.process == nil {
		return
	}
	if grace > 0 {
		c.process.signal(syscall.SIGTERM)
		select {
		case <-c.exited:
			return
		case <-time.After(grace):
		}
	}
	c.process.signal(syscall.SIGKILL)
	<-c.exited
}

func (r *processRuntime) StopContainer(
	_ context.Context, request *cri.StopContainerRequest,
) (*cri.StopContainerResponse, error) {
	if found, err := r.container(request.ContainerId); err == nil {
		found.stop(time.Duration(request.Timeout) * time.Second)
	}
	return &cri.StopContainerResponse{}, nil
}

func (r *processRuntime) RemoveContainer(
	_ context.Context, request *cri.RemoveContainerRequest,
) (*cri.RemoveContainerResponse, error) {
	found, err := r.container(request.ContainerId)
	if err != nil {
		return &cri.RemoveContainerResponse{}, nil
	}
	found.stop(0)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.containers, found.id)
	r.tell(found.pod, found.id, cri.ContainerEventType_CONTAINER_DELETED_EVENT)
	return &cri.RemoveContainerResponse{}, nil
}

func (r *processRuntime) ListContainers(
	_ context.Context, request *cri.ListContainersRequest,
) (*cri.ListContainersResponse, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	filter := request.GetFilter()
	response := &cri.ListContainersResponse{}
	for _, one := range r.containers {
		if filter.GetId() != "" && filter.Id != one.id ||
			filter.GetPodSandboxId() != "" && filter.PodSandboxId != one.pod.id ||
			filter.GetState() != nil && filter.State.State != one.state ||
			!selected(filter.GetLabelSelector(), one.config.Labels) {
			continue
		}
		response.Containers = append(response.Containers, &cri.Container{
			Id: one.id, PodSandboxId: one.pod.id, Metadata: one.config.Metadata, Image: one.config.Image,
			ImageRef: one.image, ImageId: one.image, State: one.state, CreatedAt: one.created,
			Labels: one.config.Labels, Annotations: one.config.Annotations,
		})
	}
	return response, nil
}

func (r *processRuntime) ContainerStatus(
	_ context.Context, request *cri.ContainerStatusRequest,
) (*cri.ContainerStatusResponse, error) {
	found, err := r.container(request.ContainerId)
	if err != nil {
		return nil, err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return &cri.ContainerStatusResponse{Status: found.status()}, nil
}

// status is called with the mutex held.
func (c *container) status() *cri.ContainerStatus {
	return &cri.ContainerStatus{
		Id: c.id, Metadata: c.config.Metadata, State: c.state, CreatedAt: c.created, StartedAt: c.started,
		FinishedAt: c.finished, ExitCode: c.code, Image: c.config.Image, ImageRef: c.image, ImageId: c.image,
		Reason: c.reason, Message: c.message, Labels: c.config.Labels, Annotations: c.config.Annotations,
		Mounts: c.config.Mounts, LogPath: c.log.path,
	}
}

func (r *processRuntime) ReopenContainerLog(
	_ context.Context, request *cri.ReopenContainerLogRequest,
) (*cri.ReopenContainerLogResponse, error) {
	found, err := r.container(request.ContainerId)
	if err != nil {
		return nil, err
	}
	return &cri.ReopenContainerLogResponse{}, found.log.open()
}

func (r *processRuntime) container(id string) (*container, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if found := r.containers[id]; found != nil {
		return found, nil
	}
	return nil, notFound("container", id)
}

// running is the container with that id if its program runs.
func (r *processRuntime) running(id string) (*container, error) {
	found, err := r.container(id)
	if err != nil {
		return nil, err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if found.state != cri.ContainerState_CONTAINER_RUNNING {
		return nil, fmt.Errorf("container %s is not running", found.config.GetMetadata().GetName())
	}
	return found, nil
}
