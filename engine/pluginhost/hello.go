package pluginhost

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// maxNoise bounds what a plugin may print to stdout before its handshake.
const maxNoise = 1 << 20

// helloPattern is go-plugin's handshake line: core version, protocol version,
// network, address, transport. It may stand behind text that a plugin printed
// without a line end.
var helloPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([0-9])\|([0-9]{1,6})\|(unix|tcp)\|([^|]*)\|(grpc|netrpc)(?:\|[^|\s]*)*\s*$`)
})

// hello is a plugin's handshake.
type hello struct {
	line    string // as go-plugin reads it
	version int
}

// parseHello finds a handshake at the end of a line.
func parseHello(line []byte) (hello, bool) {
	if h, ok := wholeHello(line); ok {
		return h, true
	}
	if bytes.Count(line, []byte("|")) < 4 {
		return hello{}, false
	}
	match := helloPattern().FindSubmatchIndex(line)
	if match == nil {
		return hello{}, false
	}
	part := func(i int) string { return string(line[match[2*i]:match[2*i+1]]) }
	version, err := strconv.Atoi(part(2))
	if err != nil {
		return hello{}, false
	}
	return hello{line: part(0), version: version}, true
}

// wholeHello reads a line that is a handshake from its first letter on, as most are: without
// the expression, which takes longer to compile than a plugin to greet.
func wholeHello(line []byte) (hello, bool) {
	parts := strings.Split(strings.TrimRight(string(line), "\t\n\f\r "), "|")
	if len(parts) < 5 || len(parts[0]) != 1 || parts[0][0] < '0' || parts[0][0] > '9' || parts[1] == "" || len(parts[1]) > 6 || strings.Trim(parts[1], "0123456789") != "" ||
		parts[2] != "unix" && parts[2] != "tcp" || parts[4] != "grpc" && parts[4] != "netrpc" {
		return hello{}, false
	}
	for _, part := range parts[5:] {
		if strings.ContainsAny(part, "\t\n\f\r ") {
			return hello{}, false
		}
	}
	version, err := strconv.Atoi(parts[1])
	return hello{line: string(line), version: version}, err == nil
}

// readHello reads lines until one is a handshake and gives every other one to
// noise. It fails at the end of r, and after maxNoise bytes without a handshake.
func readHello(r *bufio.Reader, noise func(line []byte)) (hello, error) {
	for read := 0; read <= maxNoise; {
		line, err := r.ReadSlice('\n')
		read += len(line)
		if h, ok := parseHello(line); ok {
			return h, nil
		}
		if len(line) > 0 {
			noise(line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				return hello{}, errors.New("its output ended without a handshake")
			}
			return hello{}, fmt.Errorf("read handshake: %w", err)
		}
	}
	return hello{}, fmt.Errorf("it printed more than %d bytes without a handshake", maxNoise)
}
