package memstore_test

import (
	"testing"

	"github.com/flowrun/flowrun/engine/storetest"
)

func TestEveryStoreMust(t *testing.T) { storetest.Exercise(t, storetest.Memory()) }
