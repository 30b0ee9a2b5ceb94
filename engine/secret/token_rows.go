package secret

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

func (t *Tokens) credential(connection, key string) *credential {
	row := fmt.Sprintf("%d:%s/%s", len(connection), connection, key)
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.credentials[row]
	if c == nil {
		c = &credential{connection: connection, row: row}
		t.credentials[row] = c
	}
	return c
}

func (t *Tokens) newID() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := make([]byte, 16)
	if _, err := io.ReadFull(t.options.Entropy, id); err != nil {
		return "", fmt.Errorf("make lease id: %w", err)
	}
	return hex.EncodeToString(id), nil
}

func (t *Tokens) read(c *credential) (*tokenRow, uint64, error) {
	stored, version, ok, err := t.options.KV.Get(tokensBucket, c.row)
	if err != nil {
		return nil, 0, fmt.Errorf("read token of %s: %w", c.connection, err)
	}
	row := new(tokenRow)
	if ok {
		if err := json.Unmarshal(stored, row); err != nil {
			return nil, 0, fmt.Errorf("read token of %s: %w", c.connection, err)
		}
	}
	return row, version, nil
}

func (t *Tokens) write(c *credential, row *tokenRow, version uint64) error {
	encoded, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("store token of %s: %w", c.connection, err)
	}
	if _, err := t.options.KV.Put(tokensBucket, c.row, encoded, &version); err != nil {
		return fmt.Errorf("store token of %s: %w", c.connection, err)
	}
	return nil
}

// maxMasked is how many texts of a credential are masked in logs: those of its
// last few tokens.
const maxMasked = 8

// redact masks a token. The credential's lock is held.
func (t *Tokens) redact(c *credential, token *Token) {
	if t.options.Redactor == nil {
		return
	}
	for _, text := range []string{token.AccessToken, token.RefreshToken} {
		if text == "" || slices.Contains(c.masked, text) {
			continue
		}
		t.options.Redactor.Add(text)
		c.masked = append(c.masked, text)
	}
	for len(c.masked) > maxMasked {
		t.options.Redactor.Remove(c.masked[0])
		c.masked = c.masked[1:]
	}
}
