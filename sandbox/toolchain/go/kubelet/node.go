package main

import (
	"encoding/json"
	"errors"
	"net"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// node is who makes Pods' networks and knows which program an image stands for (sandbox/node): a JSON line there, a JSON
// line back.
type node struct{ socket string }

type question map[string]any

type answer struct {
	Error     string `json:"error"`
	Unknown   bool   `json:"unknown"`
	Address   string `json:"address"`
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
	User      int64  `json:"user"`
}

func (n node) ask(what question) (found answer, err error) {
	connection, err := net.Dial("unix", n.socket)
	if err != nil {
		return found, err
	}
	defer connection.Close()
	if err := json.NewEncoder(connection).Encode(what); err != nil {
		return found, err
	}
	if err := json.NewDecoder(connection).Decode(&found); err != nil {
		return found, err
	}
	if found.Unknown {
		return found, status.Error(codes.NotFound, found.Error)
	}
	if found.Error != "" {
		return found, errors.New(found.Error)
	}
	return found, nil
}

// connect gives a Pod its network and returns when the network policies hold there.
func (n node) connect(id string, config *cri.PodSandboxConfig) (address, namespace string, err error) {
	uid, sysctls := config.GetMetadata().GetUid(), config.GetLinux().GetSysctls()
	found, err := n.ask(question{"do": "add", "id": id, "uid": uid, "sysctls": sysctls})
	return found.Address, found.Namespace, err
}

func (n node) disconnect(id string) error {
	_, err := n.ask(question{"do": "remove", "id": id})
	return err
}

func (n node) image(reference string) (answer, error) {
	return n.ask(question{"do": "image", "reference": reference})
}
