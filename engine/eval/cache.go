package eval

import "sync"

// Cache keeps compiled programs by their source. It is safe for concurrent use.
type Cache struct {
	mu       sync.Mutex
	programs map[string]*Program
}

// maxCached bounds a cache; beyond it, programs are compiled each time.
const maxCached = 10_000

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{programs: map[string]*Program{}} }

// Compile is the package's Compile, remembered.
func (c *Cache) Compile(source string) (*Program, error) {
	c.mu.Lock()
	program := c.programs[source]
	c.mu.Unlock()
	if program != nil {
		return program, nil
	}
	program, err := Compile(source)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.programs) < maxCached {
		c.programs[source] = program
	}
	return program, nil
}
