package main

import (
	"time"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	refreshEvery = 100 * time.Millisecond
	lively       = 5 * time.Second // for this long after a change a Pod is told of each time, else once a second
)

// tell sends what has happened to a Pod or to a container of it (id) to everybody who watches. Called with the mutex held.
func (r *processRuntime) tell(about *pod, id string, kind cri.ContainerEventType) {
	about.changed = time.Now()
	r.send(about, id, kind)
}

// refresh tells how Pods are, again and again: after each step kubelet waits for news that is younger than the step. As
// "created", since of that it takes the state and does nothing.
func (r *processRuntime) refresh() {
	for beat := 0; ; beat++ {
		time.Sleep(refreshEvery)
		r.mutex.Lock()
		for _, one := range r.pods {
			if beat%10 == 0 || time.Since(one.changed) < lively {
				r.send(one, one.id, cri.ContainerEventType_CONTAINER_CREATED_EVENT)
			}
		}
		r.mutex.Unlock()
	}
}

// send is called with the mutex held. Who does not keep up misses some, and has the next.
func (r *processRuntime) send(about *pod, id string, kind cri.ContainerEventType) {
	if len(r.watchers) == 0 {
		return
	}
	event := &cri.ContainerEventResponse{
		ContainerId: id, ContainerEventType: kind, CreatedAt: time.Now().UnixNano(), PodSandboxStatus: about.status(),
	}
	for _, one := range r.containersOf(about.id) {
		event.ContainersStatuses = append(event.ContainersStatuses, one.status())
	}
	for watcher := range r.watchers {
		select {
		case watcher <- event:
		default:
		}
	}
}

func (r *processRuntime) GetContainerEvents(
	_ *cri.GetEventsRequest, stream grpc.ServerStreamingServer[cri.ContainerEventResponse],
) error {
	events := make(chan *cri.ContainerEventResponse, 1000)
	r.mutex.Lock()
	r.watchers[events] = struct{}{}
	r.mutex.Unlock()
	defer func() {
		r.mutex.Lock()
		delete(r.watchers, events)
		r.mutex.Unlock()
	}()
	for {
		select {
		case event := <-events:
			if err := stream.Send(event); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}
