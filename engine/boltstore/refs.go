package boltstore

import (
	"bytes"
)

// Plans and blobs lie under their own hash (pieces of blobs: blobs.go), so that runs share them. The index
// of references says who needs them: a plan or blob goes with its last reference,
// in the same transaction, so that there is never garbage to look for.
//
//	p plan run -> the key of the run's request, or nothing
//	b blob run -> nothing; a run of zeros = the plan of that hash
const (
	refPlan byte = 'p'
	refBlob byte = 'b'
)

// noRun stands for the plan that a blob belongs to.
func noRun() []byte { return make([]byte, runKeySize) }

func planRef(planKey, run []byte) []byte {
	return append(append([]byte{refPlan}, planKey...), run...)
}

func blobRef(blob, run []byte) []byte {
	return append(append([]byte{refBlob}, blob...), run...)
}

// dropPlan removes a run's reference to a plan, and the plan when that was the
// last one.
func dropPlan(w *writer, hash string, run []byte) error {
	key, ok := decodeHash(hash)
	if !ok {
		return nil
	}
	ref := planRef(key, run)
	request, err := getSealed(w.Bucket(bucketRefs), bucketRefs, ref)
	if err != nil {
		return err
	}
	if len(request) > 0 {
		if err := w.remove(bucketRequests, bytes.Clone(request)); err != nil {
			return err
		}
	}
	if err := w.remove(bucketRefs, ref); err != nil || referenced(w, ref[:len(ref)-runKeySize]) {
		return err
	}
	stored, err := getSealed(w.Bucket(bucketPlans), bucketPlans, key)
	if err != nil {
		return err
	}
	if len(stored) > 0 && stored[0] == planBlob {
		if err := dropBlob(w, bytes.Clone(stored[1:]), noRun()); err != nil {
			return err
		}
	}
	return w.remove(bucketPlans, key)
}

// dropBlob removes a reference to a blob, and the blob with its last one.
func dropBlob(w *writer, key, run []byte) error {
	ref := blobRef(key, run)
	if w.Bucket(bucketRefs).Get(ref) == nil {
		return nil // with another record of the same run
	}
	if err := w.remove(bucketRefs, ref); err != nil || referenced(w, ref[:len(ref)-runKeySize]) {
		return err
	}
	return w.remove(bucketBlobs, key)
}

func referenced(w *writer, prefix []byte) bool {
	key, _ := w.Bucket(bucketRefs).Cursor().Seek(prefix)
	return bytes.HasPrefix(key, prefix)
}
