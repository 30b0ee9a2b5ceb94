package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flowrun/flowrun/sdk"
)

func hide(c *sdk.Call[config], _ struct{}) (hidden, error) {
	if err := os.WriteFile(filepath.Join(os.Getenv("HOME"), "hidden"), []byte(c.Config.Home), 0o600); err != nil {
		return hidden{}, fmt.Errorf("hide it at home: %w", err)
	}
	states := []*sdk.State{c.State(), c.State().OfPlugin(), c.State().OfRun()}
	for _, state := range states {
		entry, err := state.Get("hidden")
		if err != nil {
			return hidden{}, err
		}
		if _, err := state.Put("hidden", []byte(c.Config.State), entry.Version, 0); err != nil {
			return hidden{}, err
		}
	}
	_, err := c.Token(sdk.TokenRequest{Force: true, Refresh: func(context.Context, *sdk.Token) (*sdk.Token, error) {
		return &sdk.Token{AccessToken: c.Config.Token, RefreshToken: c.Config.Token}, nil
	}})
	return hidden{Places: 2 + len(states)}, err
}
