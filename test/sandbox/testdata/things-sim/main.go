// Command things-sim stands for the service of the plugin things in a sandbox. What
// it is told to do wrong stands in its arguments.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	config := map[string]any{"base_url": "http://" + listener.Addr().String(), "token": "sim-token"}
	for _, wrong := range os.Args[1:] {
		switch name, value, _ := strings.Cut(wrong, "="); name {
		case "fail":
			fmt.Fprintln(os.Stderr, "the simulator has no data")
			os.Exit(3)
		case "text":
			fmt.Println("ready on " + listener.Addr().String())
		case "silent":
			select {}
		case "setting":
			config[value] = true
		case "address":
			config["base_url"] = value
		case "none":
			config = map[string]any{}
		case "environ":
			if err := os.WriteFile(value, []byte(strings.Join(os.Environ(), "\n")), 0o600); err != nil {
				panic(err)
			}
		case "pids":
			child := exec.Command("sleep", "600")
			if err := child.Start(); err != nil {
				panic(err)
			}
			text := strconv.Itoa(os.Getpid()) + " " + strconv.Itoa(child.Process.Pid)
			if err := os.WriteFile(value, []byte(text), 0o600); err != nil {
				panic(err)
			}
		case "deaf": // goes on though its stdin has ended
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(config); err != nil {
		panic(err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		if len(os.Args) < 2 || os.Args[1] != "deaf" {
			os.Exit(0)
		}
	}()
	_ = http.Serve(listener, http.HandlerFunc(answer))
}

func answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Header.Get("Authorization") != "Bearer sim-token" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /things":
		fmt.Fprint(w, `{"things":[{"id":"1","name":"one of the simulator"}]}`)
	case "POST /things":
		fmt.Fprint(w, `{"id":"2","name":"made by the simulator"}`)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}
