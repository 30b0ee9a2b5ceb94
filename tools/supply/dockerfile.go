package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// recipe is what the last stage of a Dockerfile says of the image.
type recipe struct {
	layers []layerCopy
	config imageConfig
}

// layerCopy is a COPY --from=build: the files below from, owned by owner, go below to.
type layerCopy struct {
	from, to string
	uid, gid int
}

// imageConfig is "config" of the image's configuration, with Docker's names.
type imageConfig struct {
	User        string
	Env         []string            `json:",omitempty"`
	Entrypoint  []string            `json:",omitempty"`
	Cmd         []string            `json:",omitempty"`
	WorkingDir  string              `json:",omitempty"`
	Volumes     map[string]struct{} `json:",omitempty"`
	StopSignal  string              `json:",omitempty"`
	Labels      map[string]string   `json:",omitempty"`
	Healthcheck *healthcheck        `json:",omitempty"`
}

// healthcheck is Docker's own addition to the configuration; durations are nanoseconds.
type healthcheck struct {
	Test        []string
	Interval    time.Duration `json:",omitempty"`
	Timeout     time.Duration `json:",omitempty"`
	StartPeriod time.Duration `json:",omitempty"`
	Retries     int           `json:",omitempty"`
}

// readDockerfile reads the last stage of a Dockerfile. It knows the steps that one
// without a shell can have; any other is an error, not passed over.
func readDockerfile(r io.Reader) (*recipe, error) {
	var made *recipe
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		word, rest, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		rest = strings.TrimSpace(rest)
		switch {
		case word == "" || strings.HasPrefix(word, "#"):
			continue
		case word == "FROM" && rest == "scratch":
			made = new(recipe)
			continue
		case word == "FROM":
			made = nil
			continue
		case made == nil: // a step of another stage
			continue
		}
		if err := made.step(word, rest); err != nil {
			return nil, fmt.Errorf("line %d of the Dockerfile: %s: %w", number, word, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the Dockerfile: %w", err)
	}
	if made == nil || len(made.layers) == 0 {
		return nil, errors.New("the Dockerfile does not end with a stage of scratch that copies files")
	}
	return made, nil
}

// step reads one step of the last stage.
func (r *recipe) step(word, rest string) error {
	c := &r.config
	switch word {
	case "COPY":
		return r.copyStep(strings.Fields(rest))
	case "ENV":
		for _, setting := range strings.Fields(rest) {
			if !strings.Contains(setting, "=") {
				return fmt.Errorf("%q sets nothing", setting)
			}
			c.Env = append(c.Env, setting)
		}
	case "USER":
		c.User = rest
	case "WORKDIR":
		c.WorkingDir = rest
	case "STOPSIGNAL":
		c.StopSignal = rest
	case "VOLUME":
		var folders []string
		if err := json.Unmarshal([]byte(rest), &folders); err != nil {
			return fmt.Errorf("it takes a JSON list: %w", err)
		}
		c.Volumes = map[string]struct{}{}
		for _, folder := range folders {
			c.Volumes[folder] = struct{}{}
		}
	case "ENTRYPOINT":
		return json.Unmarshal([]byte(rest), &c.Entrypoint)
	case "CMD":
		return json.Unmarshal([]byte(rest), &c.Cmd)
	case "HEALTHCHECK":
		return r.healthStep(rest)
	default:
		return errors.New("`make image` does not know this step")
	}
	return nil
}

// copyStep reads COPY --from=build [--chown=UID:GID] /rootfs/FROM/ TO.
func (r *recipe) copyStep(words []string) error {
	made := layerCopy{}
	isOfBuild := false
	for len(words) > 0 && strings.HasPrefix(words[0], "--") {
		name, value, _ := strings.Cut(words[0], "=")
		switch name {
		case "--from":
			isOfBuild = value == "build"
		case "--chown":
			uid, gid, _ := strings.Cut(value, ":")
			var errs [2]error
			made.uid, errs[0] = strconv.Atoi(uid)
			made.gid, errs[1] = strconv.Atoi(gid)
			if err := errors.Join(errs[:]...); err != nil {
				return fmt.Errorf("--chown takes two numbers: %w", err)
			}
		default:
			return fmt.Errorf("`make image` does not know %s", name)
		}
		words = words[1:]
	}
	if !isOfBuild || len(words) != 2 || !strings.HasPrefix(words[0], "/rootfs/") {
		return errors.New("it takes --from=build /rootfs/FOLDER/ TO")
	}
	made.from, made.to = strings.Trim(strings.TrimPrefix(words[0], "/rootfs/"), "/"), strings.Trim(words[1], "/")
	r.layers = append(r.layers, made)
	return nil
}

// healthStep reads HEALTHCHECK [--interval=..] [..] CMD [..].
func (r *recipe) healthStep(rest string) error {
	h := &healthcheck{Test: []string{"CMD"}}
	flags, command, ok := strings.Cut(rest, "CMD ")
	if !ok {
		return errors.New("it takes CMD")
	}
	var words []string
	if err := json.Unmarshal([]byte(command), &words); err != nil {
		return fmt.Errorf("CMD takes a JSON list: %w", err)
	}
	h.Test = append(h.Test, words...)
	for _, flag := range strings.Fields(flags) {
		name, value, _ := strings.Cut(flag, "=")
		var err error
		switch name {
		case "--interval":
			h.Interval, err = time.ParseDuration(value)
		case "--timeout":
			h.Timeout, err = time.ParseDuration(value)
		case "--start-period":
			h.StartPeriod, err = time.ParseDuration(value)
		case "--retries":
			h.Retries, err = strconv.Atoi(value)
		default:
			err = errors.New("`make image` does not know it")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
	}
	r.config.Healthcheck = h
	return nil
}
