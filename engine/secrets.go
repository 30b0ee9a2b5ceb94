package engine

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/workspace"
)

// MaxSecret is the largest value of a stored secret in bytes.
const MaxSecret = 64 << 10

// SetSecret stores a value, sealed, in the place of the one before. It is
// durable when SetSecret returns. A wrong name or value is an *InputError, which
// does not hold the value; a project that does not read its store a
// *ConflictError.
func (e *Engine) SetSecret(ctx context.Context, name, value string) (*workspace.SecretInfo, error) {
	if err := checkSecret(name, value); err != nil {
		return nil, err
	}
	if !slices.Contains(e.project.Declared().Secrets, services.SecretFromStore) {
		return nil, &fault.ConflictError{
			Message: "the project takes no secrets from the store: `secrets` of flowrun.yaml does not name it",
			Hint:    diag.Say("write `secrets: [env, store]`, or set the environment variable " + e.project.SecretEnv().VariableOf(name)),
		}
	}
	stored, err := e.project.Services().StoredSecrets()
	if err != nil {
		return nil, err
	}
	e.project.Redactor().Add(value) // what comes to know it from now on masks it
	if err := stored.Set(name, value); err != nil {
		return nil, e.Fault(fmt.Errorf("store secret %s: %w", name, err))
	}
	return e.project.SecretInfo(name, true, e.needs(ctx)), nil
}

func checkSecret(name, value string) error {
	switch {
	case !workspace.ValidSecretName(name):
		return &fault.InputError{Message: "this is not the name of a secret", Hint: diag.Say("letters, digits and _, such as TASKS_TOKEN")}
	case value == "":
		return &fault.InputError{Message: "the value of secret " + name + " is empty", Hint: diag.Sayf("%s removes it", diag.Command{"secrets", "rm", name})}
	case len(value) > MaxSecret:
		return &fault.InputError{Message: fmt.Sprintf("the value of secret %s has %d bytes, the limit is %d", name, len(value), MaxSecret)}
	case !utf8.ValidString(value):
		return &fault.InputError{Message: "the value of secret " + name + " is not UTF-8 text", Hint: diag.Say("encode it as the service wants it, such as with base64")}
	}
	return nil
}

// ListSecrets returns the secrets that are set or that a connection, a message's
// target or a workflow names, by name.
func (e *Engine) ListSecrets(ctx context.Context) ([]workspace.SecretInfo, error) {
	_, names, err := e.storedSecrets()
	if err != nil {
		return nil, err
	}
	return e.project.Secrets(names, e.needs(ctx)), nil
}

// StoredSecretNames returns the names of the stored secrets: no workflow is checked for it.
func (e *Engine) StoredSecretNames(context.Context) ([]string, error) {
	_, names, err := e.storedSecrets()
	return names, err
}

// storedSecrets returns the secrets of the store, and their names.
func (e *Engine) storedSecrets() (stored *secret.Stored, names []string, err error) {
	if stored, err = e.project.Services().StoredSecrets(); err != nil {
		return nil, nil, err
	}
	if names, err = stored.Names(); err != nil {
		return nil, nil, e.Fault(fmt.Errorf("list the stored secrets: %w", err))
	}
	return stored, names, nil
}

// RemoveSecret deletes a stored secret. One that is not stored is an
// *UnknownError.
func (e *Engine) RemoveSecret(_ context.Context, name string) error {
	stored, names, err := e.storedSecrets()
	if err != nil {
		return err
	}
	if !slices.Contains(names, name) {
		return e.project.UnknownSecret(name, names)
	}
	if err := stored.Remove(name); err != nil {
		return e.Fault(fmt.Errorf("remove secret %s: %w", name, err))
	}
	return nil
}

// needs adds to the places of the project file those of its workflows, as they are
// in force. Files that can't be read or checked need nothing yet.
func (e *Engine) needs(ctx context.Context) workspace.SecretNeeds {
	needs := e.project.DeclaredNeeds()
	loaded, err := e.revisions.Load(ctx)
	if err != nil {
		return needs
	}
	for _, file := range loaded.Files {
		if file.InForce != nil {
			needs.AddWorkflow(file.InForce.Workflow())
		}
	}
	return needs
}
