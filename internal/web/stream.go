package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/packed"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// Bounds of streams.
const (
	streamCap = 100 // open at once
	maxTopics = 20  // of one stream
	// patience is how long a reader over TCP may take nothing before it is cut off:
	// it holds one of the places. What it missed it gets when it comes back.
	patience = 30 * time.Second
	// renewal is how long a deadline stands before a message moves it on: at most so much
	// longer a reader has. Many readers get many messages a second.
	renewal = time.Second
)

// eventStream is the media type of server-sent events.
const eventStream = "text/event-stream"

// topicRuns is the feed of all runs.
const topicRuns = "runs"

const streamText = "Server-sent events. The topic `run:ID` tells what happens in a run: events named run, step, record, log, progress, wait and end, " +
	"whose data is an Update; `end` is the last one. The topic `runs` tells of each change of a run's row: events named runs, whose data is " +
	"a RunsUpdate; one with `reset` says that something was missed and the list must be read again. Several topics are separated by commas. " +
	"The id of an event is what Last-Event-ID goes on after: of one run the sequence number of its journal, of several topics the numbers " +
	"of all of them in their order, joined by slashes. A comment line every 15 seconds keeps idle streams open."

type streamInput struct {
	Topics      string `query:"topics" doc:"What to hear of: run:ID, runs, or several of them with commas." example:"run:01k8zq4c0vdx3y6t7k9m2n5p8r,runs"`
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last event that was seen."`
}

func registerStream(t *typed, s *server) {
	registerWhole(t, guard.Viewer, "GET /stream", huma.Operation{
		OperationID: "stream", Tags: []string{"runs"}, Metadata: map[string]any{longAnswers: true, responses: streamResponse}, Summary: "Follow runs",
		Description: streamText,
	}, s.stream)
}

var streamResponse = also{"200", "The events. The schema is that of their data.", eventStream, []reflect.Type{reflect.TypeFor[engine.Update](), reflect.TypeFor[engine.RunsUpdate]()}}

// event is one message of a stream.
type event struct {
	topic int
	seq   uint64                 // 0 = it has no place to go on from
	text  func() ([]byte, error) // all of it but the id: shared by all who follow the same
}

// passage is what a stream of one run alone tells at a time, with its ids: shared by all who
// follow the run and are as far.
type passage struct {
	text  []byte
	once  sync.Once
	piece packed.Piece
}

// passageOf writes updates, each with its id. The text of each is a part of the passage, also
// for those who follow several topics.
func passageOf(list []engine.Update) any {
	p := &passage{text: make([]byte, 0, roomFor(list))}
	for i := range list {
		u := &list[i]
		before := len(p.text)
		if u.Seq > 0 {
			p.text = append(strconv.AppendUint(append(p.text, "id: "...), u.Seq, 10), '\n')
		}
		begin := len(p.text)
		text, err := u.Text(func(engine.Update) (text []byte, err error) {
			p.text, err = appendRunEvent(p.text, u)
			return slices.Clip(p.text[begin:]), err
		})
		switch {
		case err != nil:
			p.text = fmt.Appendf(p.text[:before], ": %q\n\n", err.Error())
		case len(p.text) == begin: // somebody wrote it before
			p.text = append(p.text, text...)
		}
	}
	return p
}

// roomFor is about how long the text of updates is.
func roomFor(list []engine.Update) int {
	room := 0
	for i := range list {
		if room += 256 + len(list[i].Record); list[i].Step != nil {
			room += len(list[i].Step.Outputs)
		}
	}
	return room
}

// as returns the passage as a reader gets it: packed once for all.
func (p *passage) as(packs bool) packed.Piece {
	if !packs {
		return packed.Plain(p.text)
	}
	p.once.Do(func() { p.piece = packed.NewPiece(p.text) })
	return p.piece
}

// stream sends feeds as server-sent events.
func (s *server) stream(ctx context.Context, in *streamInput) (*streamed, error) {
	topics, err := parseTopics(in.Topics)
	if err != nil {
		return nil, err
	}
	from, err := parsePlaces(in.LastEventID, len(topics))
	if err != nil {
		return nil, err
	}
	select {
	case s.streams <- struct{}{}:
	default:
		return nil, wire.NewProblem(wire.CodeTooMany, fmt.Sprintf("%d streams are open already", streamCap))
	}
	ctx, cancel := context.WithCancel(ctx)
	feed, err := s.follow(ctx, topics, from)
	if err != nil {
		cancel()
		feed.Wait()
		<-s.streams
		return nil, err
	}
	return &streamed{func(x huma.Context) {
		defer func() { <-s.streams }()
		defer feed.Wait()
		defer cancel()
		r, w := humago.Unwrap(x)
		w.Header().Set("Content-Type", eventStream)
		// What is packed here is packed once for all. Other streams are packed behind this handler.
		packs := feed.run != nil && packed.Accepted(r)
		if packs {
			w.Header().Set("Content-Encoding", "gzip")
		}
		w.WriteHeader(http.StatusOK)
		s.copyEvents(ctx, w, r, packed.NewStream(w, packs), feed, from)
	}}, nil
}

// feed joins the feeds of the topics of a stream.
type feed struct {
	events chan event            // closed when every feed has ended
	run    <-chan engine.Updates // in place of events: of one run alone, written as passages
	sync.WaitGroup
}

// follow subscribes to all topics. When it returns without a problem, what
// happens from now on will be read. Its goroutines end with ctx.
func (s *server) follow(ctx context.Context, topics []string, from []uint64) (*feed, error) {
	if len(topics) == 1 && topics[0] != topicRuns {
		run, err := s.followRun(ctx, topics[0], from[0])
		return &feed{run: run}, err
	}
	joined := &feed{events: make(chan event)}
	for i, topic := range topics {
		pump, err := s.subscribe(ctx, topic, from[i], i)
		if err != nil {
			return joined, err // the caller ends ctx, and with it those that run
		}
		joined.Go(func() { pump(joined.events) })
	}
	go func() {
		joined.Wait()
		close(joined.events)
	}()
	return joined, nil
}

// subscribe opens the feed of one topic and returns what hands its events on.
func (s *server) subscribe(ctx context.Context, topic string, from uint64, index int) (func(chan<- event), error) {
	if topic == topicRuns {
		updates, err := s.Runs.WatchRuns(ctx, from)
		if err != nil {
			return nil, err
		}
		return pump(ctx, updates, func(u engine.RunsUpdate, hand func(event)) {
			hand(event{index, u.Seq, func() ([]byte, error) { return u.Text(runsText) }})
		}), nil
	}
	updates, err := s.followRun(ctx, topic, from)
	if err != nil {
		return nil, err
	}
	return pump(ctx, updates, func(all engine.Updates, hand func(event)) {
		for _, u := range all.List {
			hand(event{index, u.Seq, func() ([]byte, error) { return u.Text(runText) }})
		}
	}), nil
}

// followRun follows a run by its topic.
func (s *server) followRun(ctx context.Context, topic string, from uint64) (<-chan engine.Updates, error) {
	id := strings.TrimPrefix(topic, "run:")
	updates, err := s.Runs.WatchTogether(ctx, id, from)
	if err != nil {
		return nil, ofRun(id, err)
	}
	return updates, nil
}

// runText and runsText write an event without its id. They know nothing of who
// reads it: whoever may follow a topic gets the same of it.
func runText(u engine.Update) ([]byte, error) {
	return appendRunEvent(make([]byte, 0, roomFor([]engine.Update{u})), &u)
}

// appendRunEvent appends an event of a run.
func appendRunEvent(b []byte, u *engine.Update) ([]byte, error) {
	b = append(append(append(b, "event: "...), u.Kind...), "\ndata: "...)
	b, err := appendUpdate(b, u)
	return append(b, "\n\n"...), err
}

func runsText(u engine.RunsUpdate) ([]byte, error) { return eventText(topicRuns, u) }

func eventText(name string, data any) ([]byte, error) {
	text, err := wire.EncodeJSON(data) // ends with a line feed and holds no other
	if err != nil {
		return nil, err
	}
	event := make([]byte, 0, len("event: \ndata: \n")+len(name)+len(text))
	event = append(append(append(event, "event: "...), name...), "\ndata: "...)
	return append(append(event, text...), '\n'), nil
}

func pump[T any](ctx context.Context, updates <-chan T, convert func(T, func(event))) func(chan<- event) {
	return func(events chan<- event) {
		for update := range updates { // until whoever sends them sees the end of ctx
			convert(update, func(e event) {
				select {
				case events <- e:
				case <-ctx.Done():
				}
			})
		}
	}
}

func (s *server) copyEvents(ctx context.Context, w http.ResponseWriter, r *http.Request, out *packed.Stream, feed *feed, places []uint64) {
	defer func() { _ = out.Close() }() // the reader may be gone: then nobody is left to tell
	flusher := http.NewResponseController(w)
	_, remote := guard.CallerOf(ctx)
	conn := gathers(ctx, r)
	_ = flusher.Flush()   // the header alone: the client knows now that it is subscribed
	var renewed time.Time // the deadline
	var heartbeat <-chan time.Time
	if s.Heartbeat > 0 {
		ticker := time.NewTicker(s.Heartbeat)
		defer ticker.Stop()
		heartbeat = ticker.C
	}
	for {
		var piece packed.Piece
		select {
		case e, open := <-feed.events:
			if !open {
				return
			}
			if e.seq > 0 {
				places[e.topic] = e.seq
			}
			id, text := encodeEvent(e, places)
			piece = packed.Plain(slices.Concat(id, text)) // what is behind it packs it
		case updates, open := <-feed.run:
			if !open {
				return
			}
			made, _ := updates.Made(passageOf).(*passage)
			piece = made.as(out.Packs())
		case <-heartbeat:
			if piece = packed.Plain([]byte(": alive\n\n")); out.Packs() {
				piece = packed.NewPiece([]byte(": alive\n\n"))
			}
		case <-s.Gate.Done():
			return
		case <-ctx.Done():
			return
		}
		if s.Now != nil && remote {
			if now := s.Now(); now.After(renewed.Add(renewal)) {
				renewed = now
				_ = flusher.SetWriteDeadline(now.Add(patience + renewal))
			}
		}
		conn.gather(piece.Bytes(out.Packs()))
		err := out.Write(piece)
		if err == nil {
			err = flusher.Flush()
		}
		if err = conn.release(err); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return
		}
	}
}

// encodeEvent returns the id of an event, which is of one stream, and the rest of
// it, which others get too.
func encodeEvent(e event, places []uint64) (id, text []byte) {
	text, err := e.text()
	switch {
	case err != nil:
		return nil, fmt.Appendf(nil, ": %q\n\n", err.Error())
	case e.seq > 0:
		id = append(append([]byte("id: "), writePlaces(places)...), '\n')
	}
	return id, text
}

// parseTopics splits and checks the topics of a stream.
func parseTopics(text string) ([]string, error) {
	topics := strings.Split(text, ",")
	if len(topics) > maxTopics {
		return nil, wire.NewProblem(wire.CodeBadRequest, fmt.Sprintf("a stream has at most %d topics", maxTopics))
	}
	seen := map[string]bool{}
	for _, topic := range topics {
		id, ofRun := strings.CutPrefix(topic, "run:")
		switch {
		case seen[topic]:
			return nil, wire.NewProblem(wire.CodeBadRequest, fmt.Sprintf("the topic %q is given twice", shorten(topic)))
		case ofRun && !ValidID(id):
			return nil, noRun(shorten(id))
		case !ofRun && topic != topicRuns:
			return nil, wire.NewProblem(wire.CodeBadRequest, "topics must be run:ID or runs, several of them with commas between")
		}
		seen[topic] = true
	}
	return topics, nil
}

// parsePlaces reads a Last-Event-ID of n topics; an empty one is their begin.
func parsePlaces(text string, n int) ([]uint64, error) {
	places := make([]uint64, n)
	if text == "" {
		return places, nil
	}
	parts := strings.Split(text, "/")
	wrong := wire.NewProblem(wire.CodeBadRequest, fmt.Sprintf("Last-Event-ID %q is not the id of an event of these topics", shorten(text)))
	if len(parts) != n {
		return nil, wrong
	}
	for i, part := range parts {
		seq, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			return nil, wrong
		}
		places[i] = seq
	}
	return places, nil
}

func writePlaces(places []uint64) string {
	parts := make([]string, len(places))
	for i, place := range places {
		parts[i] = strconv.FormatUint(place, 10)
	}
	return strings.Join(parts, "/")
}
