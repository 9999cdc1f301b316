package main

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// An image is there or is not: it stands for a program of this machine, and nothing is pulled.

func (r *processRuntime) ImageStatus(_ context.Context, request *cri.ImageStatusRequest) (*cri.ImageStatusResponse, error) {
	found, err := r.node.image(request.GetImage().GetImage())
	if status.Code(err) == codes.NotFound {
		return &cri.ImageStatusResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &cri.ImageStatusResponse{Image: &cri.Image{
		Id: found.ID, RepoTags: []string{request.GetImage().GetImage()}, Size: 1,
		Uid: &cri.Int64Value{Value: found.User}, Spec: request.Image, Pinned: true,
	}}, nil
}

func (r *processRuntime) PullImage(_ context.Context, request *cri.PullImageRequest) (*cri.PullImageResponse, error) {
	found, err := r.node.image(request.GetImage().GetImage())
	if err != nil {
		return nil, err
	}
	return &cri.PullImageResponse{ImageRef: found.ID}, nil
}

func (r *processRuntime) ListImages(context.Context, *cri.ListImagesRequest) (*cri.ListImagesResponse, error) {
	return &cri.ListImagesResponse{}, nil
}

func (r *processRuntime) ImageFsInfo(context.Context, *cri.ImageFsInfoRequest) (*cri.ImageFsInfoResponse, error) {
	own := []*cri.FilesystemUsage{{
		Timestamp: time.Now().UnixNano(), FsId: &cri.FilesystemIdentifier{Mountpoint: r.bin},
		UsedBytes: &cri.UInt64Value{}, InodesUsed: &cri.UInt64Value{},
	}}
	return &cri.ImageFsInfoResponse{ImageFilesystems: own, ContainerFilesystems: own}, nil
}
