package main

import (
	"fmt"
	"runtime"
)

func goVersion() string { return runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH }

func processors() string { return fmt.Sprintf("%d processors", runtime.NumCPU()) }
