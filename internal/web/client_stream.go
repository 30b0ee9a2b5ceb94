package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/runs"
)

// Stream is an open feed of one run.
type Stream struct {
	body   io.ReadCloser
	reader *bufio.Reader
}

// Watch opens the feed of a run after sequence number from. When it returns,
// the subscription stands: what happens from now on will be read.
func (c *Client) Watch(ctx context.Context, id string, from uint64) (*Stream, error) {
	header := http.Header{}
	if from > 0 {
		header.Set("Last-Event-ID", strconv.FormatUint(from, 10))
	}
	query := url.Values{"topics": {"run:" + id}}
	response, err := c.send(ctx, http.MethodGet, "/stream?"+query.Encode(), nil, header) //nolint:bodyclose // Stream.Close does
	if err != nil {
		return nil, err
	}
	return &Stream{body: response.Body, reader: bufio.NewReader(response.Body)}, nil
}

// Close ends the subscription.
func (s *Stream) Close() error { return s.body.Close() }

// Next returns the next update. io.EOF means that the owner closed the feed:
// after an UpdateEnd because the run is over, else because the owner is gone.
func (s *Stream) Next() (engine.Update, error) {
	for {
		line, err := s.reader.ReadBytes('\n')
		if err != nil {
			return engine.Update{}, io.EOF
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue // id and event stand in the data too; comments are heartbeats
		}
		var update engine.Update
		if err := json.Unmarshal(data, &update); err != nil {
			return engine.Update{}, fmt.Errorf("read the feed: %w", err)
		}
		return update, nil
	}
}

// Prompter is a sink that can also show what a person must do.
type Prompter interface {
	runs.Sink
	Prompt(runs.Prompt)
}

// Call runs one action and tells sink what it says meanwhile.
func (c *Client) Call(ctx context.Context, r calls.Request, sink Prompter) (calls.Result, error) {
	return c.follow(ctx, "/local/call", r, sink)
}

// follow posts a request whose answer tells what happens until its result.
func (c *Client) follow(ctx context.Context, path string, r any, sink Prompter) (calls.Result, error) {
	response, err := c.send(ctx, http.MethodPost, path, r, nil)
	if err != nil {
		return calls.Result{}, err
	}
	defer response.Body.Close()
	decoder := json.NewDecoder(response.Body)
	for {
		var line CallLine
		if err := decoder.Decode(&line); err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("it ended before the call did")
			}
			return calls.Result{}, goneError(ctx, err)
		}
		switch {
		case line.Log != nil:
			sink.Log(*line.Log)
		case line.Progress != nil:
			sink.Progress(*line.Progress)
		case line.Prompt != nil:
			sink.Prompt(*line.Prompt)
		case line.Problem != nil && ctx.Err() != nil:
			return calls.Result{}, ctx.Err() // what the owner says of our own end
		case line.Problem != nil:
			return calls.Result{}, line.Problem
		case line.Result != nil:
			return *line.Result, nil
		}
	}
}
