// Command dump is a plugin for the tests: it gives a large value of as many bytes as it is
// asked for, the same ones each time.
package main

import (
	"io"
	"math/rand/v2"

	"github.com/flowrun/flowrun/sdk"
)

type makeInput struct {
	Bytes int64 `json:"bytes" min:"0"`
}

type makeOutput struct {
	File sdk.Blob `json:"file"`
}

func main() {
	sdk.New("dump", "1.0.0", "Gives large values.", sdk.Read("make", "Give so many bytes.", func(c *sdk.Call[struct{}], in makeInput) (out makeOutput, err error) {
		w, err := c.NewBlob(sdk.BlobOptions{Name: "dump.bin", MediaType: "application/octet-stream"})
		if err != nil {
			return out, err
		}
		w.Restart()
		if _, err := io.Copy(w, io.LimitReader(rand.NewChaCha8([32]byte{1}), in.Bytes)); err != nil {
			return out, err
		}
		out.File, err = w.Finish()
		return out, err
	})).Serve()
}
