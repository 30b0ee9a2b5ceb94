package term

import (
	"fmt"
	"io"
	"strings"
)

// Block is a group of lines at the bottom of a terminal that is drawn again in
// place. Lines printed above it scroll away as usual. Not safe for concurrent
// use.
type Block struct {
	out   io.Writer
	drawn int // lines on the screen
	last  string
}

// NewBlock returns an empty block on out.
func NewBlock(out io.Writer) *Block { return &Block{out: out} }

// Draw replaces the block's lines. A line must not be wider than the terminal,
// and there must be fewer than the terminal has rows. Equal lines are not
// written again.
func (b *Block) Draw(lines []string) error {
	text := strings.Join(lines, "\n")
	if text == b.last && b.drawn == len(lines) {
		return nil
	}
	var out strings.Builder
	b.rewind(&out)
	for _, line := range lines {
		out.WriteString(line + "\x1b[K\n")
	}
	out.WriteString("\x1b[J")
	b.last, b.drawn = text, len(lines)
	return b.write(out.String())
}

// Print writes lines above the block, which is drawn again below them.
func (b *Block) Print(lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	var out strings.Builder
	b.rewind(&out)
	for _, line := range lines {
		out.WriteString(line + "\x1b[K\n")
	}
	if b.drawn > 0 {
		for line := range strings.SplitSeq(b.last, "\n") {
			out.WriteString(line + "\x1b[K\n")
		}
	}
	out.WriteString("\x1b[J")
	return b.write(out.String())
}

// Leave keeps what is drawn on the screen and begins a new block below it.
func (b *Block) Leave() { b.drawn, b.last = 0, "" }

func (b *Block) rewind(out *strings.Builder) {
	if b.drawn > 0 {
		fmt.Fprintf(out, "\r\x1b[%dA", b.drawn)
	}
}

func (b *Block) write(text string) error {
	if _, err := io.WriteString(b.out, text); err != nil {
		return fmt.Errorf("draw on the terminal: %w", err)
	}
	return nil
}
