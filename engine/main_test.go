package engine

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/flowrun/flowrun/sdk"
)

// TestMain is a plugin where the engine starts the test program as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "plugins" && os.Args[2] == "serve" {
		feedPlugin().Serve()
		return
	}
	os.Exit(m.Run())
}

type feedConfig struct {
	File  string `json:"file" doc:"What the list is read from"`
	Token string `json:"token" doc:"Not looked at" secret:"true"`
}

type feedIn struct {
	Limit int `json:"limit" doc:"How many items" default:"100" min:"1"`
}

type feedItem struct {
	ID    int64  `json:"id"`
	Title string `json:"title"`
	Seen  int64  `json:"seen"`
}

type feedOut struct {
	Items []feedItem `json:"items"`
}

// feedPlugin lists what stands in a file: {"fail": TEXT} makes it fail.
func feedPlugin() *sdk.Plugin {
	return sdk.New("feed", "1.0.0", "A list in a file", sdk.Read("list", "Read the list", func(c *sdk.Call[feedConfig], in feedIn) (out feedOut, err error) {
		data, err := os.ReadFile(c.Config.File)
		if err != nil {
			return out, err
		}
		var file struct {
			feedOut
			Fail string `json:"fail"`
		}
		if err := json.Unmarshal(data, &file); err != nil {
			return out, err
		}
		if file.Fail != "" {
			return out, sdk.Errorf(sdk.CodeForbidden, "%s", file.Fail)
		}
		out.Items = file.Items[:min(len(file.Items), in.Limit)]
		return out, nil
	}))
}
