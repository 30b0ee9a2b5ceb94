package upkeep

import (
	"errors"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/fault"
)

// TestP16NetworkFileSystemsAreRefused by the number that statfs gives.
func TestP16NetworkFileSystemsAreRefused(t *testing.T) {
	of := func(magic uint32, ok bool) func(string) (uint32, bool) {
		return func(string) (uint32, bool) { return magic, ok }
	}
	for magic, name := range map[uint32]string{0x6969: "NFS", 0xFF534D42: "CIFS", 0xFE534D42: "SMB", 0x65735546: "FUSE"} {
		err := refuseNetworkFS("/srv/state", of(magic, true))
		var store *fault.StoreError
		if !errors.As(err, &store) || store.Fault != fault.StoreIO {
			t.Fatalf("%s: %v, want a StoreError", name, err)
		}
		for _, want := range []string{"/srv/state", name, "--allow-network-fs"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %s", err, want)
			}
		}
	}
	for _, local := range []uint32{0xEF53, 0x01021994, 0x58465342, 0x9123683E, 0x794C7630} { // ext, tmpfs, XFS, Btrfs, overlay
		if err := refuseNetworkFS("/srv/state", of(local, true)); err != nil {
			t.Errorf("%#x: %v", local, err)
		}
	}
	if err := refuseNetworkFS("/srv/state", of(0x6969, false)); err != nil {
		t.Errorf("a type that is not known: %v", err)
	}
	if err := refuseNetworkFS(t.TempDir(), fileSystemType); err != nil {
		t.Errorf("the real one: %v", err)
	}
}
