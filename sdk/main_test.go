package sdk_test

import (
	"os"
	"testing"

	"github.com/flowrun/flowrun/sdk/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }
