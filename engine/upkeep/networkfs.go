package upkeep

import (
	"fmt"

	"github.com/flowrun/flowrun/engine/fault"
)

// networkFileSystems are those whose locks and syncs do not hold what a store
// needs of them, by the magic number of statfs(2) (docs/reliability.md, P16).
func networkFileSystems() map[uint32]string {
	return map[uint32]string{
		0x00006969: "NFS", 0xFF534D42: "CIFS", 0xFE534D42: "SMB", 0x0000517B: "SMB", 0x65735546: "FUSE", 0x01021997: "9P",
		0x5346414F: "AFS", 0x6B414653: "AFS", 0x73757245: "Coda", 0x0000564C: "NCP", 0x00C36400: "Ceph", 0x0BD00BD0: "Lustre",
	}
}

// RefuseNetworkFS refuses a state directory on a network file system: a
// *fault.StoreError.
func RefuseNetworkFS(stateDir string) error { return refuseNetworkFS(stateDir, fileSystemType) }

// refuseNetworkFS refuses a state directory on a network file system, of which
// fileSystem gives the type.
func refuseNetworkFS(stateDir string, fileSystem func(path string) (uint32, bool)) error {
	name := networkName(stateDir, fileSystem)
	if name == "" {
		return nil
	}
	return &fault.StoreError{Fault: fault.StoreIO, Path: stateDir, Err: fmt.Errorf(
		"%s lies on a network file system (%s), where locks and syncs can't be relied on; name a folder of a local disk with --state, or accept it with --allow-network-fs", stateDir, name)}
}

// NetworkFileSystem names the network file system that a folder lies on, "" when
// it is on a disk of this machine.
func NetworkFileSystem(dir string) string { return networkName(dir, fileSystemType) }

func networkName(dir string, fileSystem func(path string) (uint32, bool)) string {
	magic, ok := fileSystem(dir)
	if !ok {
		return "" // what is wrong there is told by whoever opens the store
	}
	return networkFileSystems()[magic]
}
