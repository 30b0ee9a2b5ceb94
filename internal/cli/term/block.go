package term

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Block is a group of lines at the bottom of a terminal that is drawn again in
// place. Lines printed above it scroll away as usual. Not safe for concurrent
// use.
type Block struct {
	out   io.Writer
	lines []string // on the screen
	width int      // of the terminal; 0 = as wide as it must be
}

// NewBlock returns an empty block on out.
func NewBlock(out io.Writer) *Block { return &Block{out: out} }

// Fit tells how wide the terminal is now. Lines that were drawn before, and are wider, have
// been broken by it since.
func (b *Block) Fit(width int) { b.width = width }

// rows is how many rows of the terminal the block takes.
func (b *Block) rows() (rows int) {
	for _, line := range b.lines {
		rows++
		if over := Width(line) - 1; b.width > 0 && over > 0 {
			rows += over / b.width
		}
	}
	return rows
}

// Draw replaces the block's lines. A line must not be wider than the terminal,
// and there must be fewer than the terminal has rows. Equal lines are not
// written again.
func (b *Block) Draw(lines []string) error {
	if slices.Equal(lines, b.lines) {
		return nil
	}
	return b.write(nil, lines)
}

// Print writes lines above the block, which is drawn again below them.
func (b *Block) Print(lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	return b.write(lines, b.lines)
}

// End writes lines in the place of the block, which stay.
func (b *Block) End(lines ...string) error { return b.write(lines, nil) }

// Leave keeps what is drawn on the screen and begins a new block below it.
func (b *Block) Leave() { b.lines = nil }

// write replaces what is on the screen by lines that stay above and those of the block.
func (b *Block) write(above, block []string) error {
	var out strings.Builder
	if len(b.lines) > 0 {
		fmt.Fprintf(&out, "\r\x1b[%dA", b.rows())
	}
	for _, line := range slices.Concat(above, block) {
		out.WriteString(line + "\x1b[K\n")
	}
	out.WriteString("\x1b[J")
	b.lines = block
	if _, err := io.WriteString(b.out, out.String()); err != nil {
		return fmt.Errorf("draw on the terminal: %w", err)
	}
	return nil
}
