package main

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"k8s.io/kubernetes/pkg/volume"
)

// ofOneUser leaves owners and groups of volumes alone where there is one user id: in a sandbox of an ordinary user without
// a range of ids, no other could be given, and all containers run as that one.
func ofOneUser(plugins []volume.VolumePlugin) []volume.VolumePlugin {
	if rows := strings.Fields(text("/proc/self/uid_map")); len(rows) != 3 || rows[2] != "1" {
		return plugins
	}
	wrapped := make([]volume.VolumePlugin, 0, len(plugins))
	for _, plugin := range plugins {
		wrapped = append(wrapped, unowned{plugin})
	}
	return wrapped
}

type unowned struct{ volume.VolumePlugin }

func (plugin unowned) NewMounter(spec *volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	mounter, err := plugin.VolumePlugin.NewMounter(spec, pod)
	return unownedMounter{mounter}, err
}

type unownedMounter struct{ volume.Mounter }

func (mounter unownedMounter) SetUp(arguments volume.MounterArgs) error {
	arguments.FsUser, arguments.FsGroup = nil, nil
	return mounter.Mounter.SetUp(arguments)
}
