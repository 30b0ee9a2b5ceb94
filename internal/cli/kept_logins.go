package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/secret"
)

// Where the logins at servers lie, below the user's own state folder, and what they are
// sealed for.
const (
	loginsFolder = "logins"
	loginsFile   = "logins.json"
	loginsBucket = "logins"
)

// keptLogin is a login at a server, as it lies in the user's state folder.
type keptLogin struct {
	Server    string     `json:"server"`
	Name      string     `json:"name"` // of the token
	Scope     string     `json:"scope"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	CAFile    string     `json:"ca_file,omitempty"` // absolute
	Sealed    []byte     `json:"sealed"`            // the token
}

// keptLogins are the logins of a user, by server. They are written as a whole.
type keptLogins struct {
	folder string
	byName map[string]keptLogin
}

// keptLogins reads the logins; none are there where nobody has logged in yet.
func (a *app) keptLogins() (*keptLogins, error) {
	folder := a.env("XDG_STATE_HOME")
	if folder == "" {
		folder = filepath.Join(a.env("HOME"), ".local", "state")
	}
	kept := &keptLogins{folder: filepath.Join(a.abs(folder), "flowrun", loginsFolder), byName: map[string]keptLogin{}}
	data, err := os.ReadFile(kept.path())
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &kept.byName)
	}
	if err != nil {
		return nil, fmt.Errorf("read the logins at servers (%s): %w", kept.path(), err)
	}
	return kept, nil
}

func (k *keptLogins) path() string { return filepath.Join(k.folder, loginsFile) }

// list returns the logins by server.
func (k *keptLogins) list() []keptLogin {
	var logins []keptLogin
	for _, login := range k.byName {
		logins = append(logins, login)
	}
	slices.SortFunc(logins, func(a, b keptLogin) int { return strings.Compare(a.Server, b.Server) })
	return logins
}

// sealer seals with the key beside the logins, which is made when the first is kept.
func (a *app) loginSealer(k *keptLogins) (*secret.Sealer, error) {
	if err := os.MkdirAll(k.folder, 0o700); err != nil {
		return nil, fmt.Errorf("keep the login: %w", err)
	}
	ring, err := secret.KeyFile(filepath.Join(k.folder, "key"), a.sys.Entropy)
	if err != nil {
		return nil, err
	}
	return secret.NewSealer(ring[0], a.sys.Entropy, ring[1:]...)
}

// keepLogin seals a token and keeps it.
func (a *app) keepLogin(k *keptLogins, login keptLogin, token string) error {
	sealer, err := a.loginSealer(k)
	if err != nil {
		return err
	}
	if login.Sealed, err = sealer.Seal(loginsBucket, login.Server, []byte(token)); err != nil {
		return fmt.Errorf("seal the login: %w", err)
	}
	k.byName[login.Server] = login
	return k.write()
}

// tokenOf opens the token of a login.
func (a *app) tokenOf(k *keptLogins, login keptLogin) (string, error) {
	sealer, err := a.loginSealer(k)
	if err != nil {
		return "", err
	}
	token, err := sealer.Open(loginsBucket, login.Server, login.Sealed)
	if err != nil {
		return "", &codedError{code: exitLogin, err: fmt.Errorf("the login at %s can't be opened: %w", login.Server, err), hint: "`flowrun login " + login.Server + "` logs in again"}
	}
	return string(token), nil
}

func (k *keptLogins) write() error {
	data, err := json.MarshalIndent(k.byName, "", "  ")
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(k.folder, tempPattern) // its mode is 0600
	if err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	_, err = temp.Write(append(data, '\n'))
	return replaceBy(temp, k.path(), err)
}

// readLogin returns the login at a server, and its token.
func (a *app) readLogin(server string) (keptLogin, string, error) {
	kept, err := a.keptLogins()
	if err != nil {
		return keptLogin{}, "", err
	}
	login, there := kept.byName[server]
	if !there {
		return login, "", &codedError{code: exitLogin, err: fmt.Errorf("nobody is logged in at the server %s", server),
			hint: "`flowrun login " + server + "`; or name a file that holds a token with --token-file or FLOWRUN_TOKEN_FILE"}
	}
	if login.ExpiresAt != nil && !a.sys.Now().Before(*login.ExpiresAt) {
		return login, "", &codedError{code: exitLogin, err: fmt.Errorf("the login at %s has ended at %s", server, a.times.Full(*login.ExpiresAt)), hint: "`flowrun login " + server + "` logs in again"}
	}
	token, err := a.tokenOf(kept, login)
	return login, token, err
}
