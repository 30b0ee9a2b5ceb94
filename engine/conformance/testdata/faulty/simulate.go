package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
)

// simulate stands for the service until stdin ends.
func simulate() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go http.Serve(listener, service())
	fmt.Printf("{\"base_url\":\"http://%s\",\"token\":\"token-of-the-simulator\"}\n", listener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func service() http.Handler {
	var mu sync.Mutex
	notes, byKey, paid := []string{}, map[string]string{}, map[string]string{}
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /word/{name}", func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.Atoi(r.URL.Query().Get("size"))
		answer(w, map[string]any{"word": r.PathValue("name"), "size": size})
	})
	mux.HandleFunc("GET /items", func(w http.ResponseWriter, r *http.Request) {
		at, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
		items, next := []any{}, ""
		for ; at < 5 && len(items) < 2; at++ {
			items = append(items, map[string]string{"id": fmt.Sprintf("i%d", at)})
		}
		if at < 5 {
			next = strconv.Itoa(at)
		}
		answer(w, map[string]any{"items": items, "next": next})
	})
	mux.HandleFunc("GET /notes", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		answer(w, map[string]any{"notes": notes})
	})
	mux.HandleFunc("POST /notes", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		key := r.Header.Get("Idempotency-Key")
		if byKey[key] == "" || key == "" {
			byKey[key] = fmt.Sprintf("n%d", len(notes)+1)
			notes = append(notes, byKey[key])
		}
		answer(w, map[string]any{"id": byKey[key]})
	})
	mux.HandleFunc("POST /pay/{reference}", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paid[r.PathValue("reference")] = fmt.Sprintf("p%d", len(paid)+1)
		answer(w, map[string]any{"id": paid[r.PathValue("reference")]})
	})
	mux.HandleFunc("GET /pay/{reference}", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if paid[r.PathValue("reference")] == "" {
			http.NotFound(w, r)
			return
		}
		answer(w, map[string]any{"id": paid[r.PathValue("reference")]})
	})
	return mux
}
