package deploy

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy" // its directive
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	nginx "github.com/tufanbarisyildirim/gonginx/config"
	nginxparser "github.com/tufanbarisyildirim/gonginx/parser"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// listens is where flowrun serve listens when nobody says otherwise.
const listens = "127.0.0.1:7070"

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestTheUnitIsTakenBySystemd lets systemd look at the unit, with a program where the unit
// has flowrun.
func TestTheUnitIsTakenBySystemd(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("SKIPPED: there is no systemd-analyze")
	}
	unit := strings.ReplaceAll(string(read(t, "contrib/flowrun.service")), "/usr/local/bin/flowrun", "/bin/true")
	if said := verify(t, unit); said != "" {
		t.Errorf("systemd says:\n%s", said)
	}
	for old, wrong := range map[string]string{"Type=notify": "Type=notifies", "WatchdogSec=30": "WatchDogSec=30", "TimeoutStopSec=45": "TimeoutStopSec=soon"} {
		if verify(t, strings.Replace(unit, old, wrong, 1)) == "" {
			t.Errorf("systemd says nothing about %s", wrong)
		}
	}
}

// verify is what systemd-analyze says of a unit.
func verify(t *testing.T, unit string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "flowrun.service")
	if err := os.WriteFile(file, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	output, _ := exec.Command("systemd-analyze", "verify", "--man=no", file).CombinedOutput() // of other units it may say more
	var own []string
	for line := range strings.Lines(string(output)) {
		if strings.Contains(line, "flowrun.service") {
			own = append(own, line)
		}
	}
	return strings.Join(own, "")
}

// image is what the Dockerfile says of the image.
func image(t *testing.T) (volume, project, user string) {
	t.Helper()
	text := string(read(t, "Dockerfile"))
	one := func(pattern string) string {
		found := regexp.MustCompile(`(?m)^` + pattern + `$`).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("the Dockerfile has no %s", pattern)
		}
		return found[1]
	}
	return one(`VOLUME \["(.*)"\]`), one(`WORKDIR (/project)`), one(`USER (\d+):\d+`)
}

// TestTheComposeFileFitsTheImage loads it as Docker does.
func TestTheComposeFileFitsTheImage(t *testing.T) {
	t.Parallel()
	load := func(text []byte) (*types.Project, error) {
		return loader.LoadWithContext(t.Context(), types.ConfigDetails{
			WorkingDir: filepath.Join(root, "contrib/docker"), ConfigFiles: []types.ConfigFile{{Filename: "compose.yaml", Content: text}},
			Environment: types.Mapping{"FLOWRUN_VERSION": "1.0.0", "FLOWRUN_PROJECT": "/srv/project"},
		}, func(o *loader.Options) { o.SetProjectName("flowrun", true) })
	}
	text := read(t, "contrib/docker/compose.yaml")
	project, err := load(text)
	if err != nil {
		t.Fatal(err)
	}
	volume, folder, _ := image(t)
	service := project.Services["flowrun"]
	var targets []string
	for _, v := range service.Volumes {
		targets = append(targets, v.Target)
	}
	if !slices.Contains(targets, volume) || !slices.Contains(targets, folder) || !service.ReadOnly {
		t.Errorf("volumes %q, read only %v", targets, service.ReadOnly)
	}
	if listen := service.Environment["FLOWRUN_LISTEN"]; listen == nil || *listen != listens {
		t.Errorf("it listens on %v", listen)
	}
	if project.Services["proxy"].NetworkMode != "service:flowrun" {
		t.Errorf("the proxy does not reach %s", listens)
	}
	if _, err := load(bytes.Replace(text, []byte("read_only"), []byte("readonly"), 1)); err == nil {
		t.Error("a key that Compose does not have is taken")
	}
}

// TestTheManifestsFitTheImage reads them as Kubernetes' own types, without a field that
// these do not have.
func TestTheManifestsFitTheImage(t *testing.T) {
	t.Parallel()
	text := string(read(t, "contrib/kubernetes/flowrun.yaml"))
	set, service, ingress, err := manifests(text)
	if err != nil {
		t.Fatal(err)
	}
	volume, folder, user := image(t)
	pod := set.Spec.Template.Spec
	container := pod.Containers[0]
	mounts := map[string]string{}
	for _, m := range container.VolumeMounts {
		mounts[m.MountPath] = m.Name
	}
	if mounts[volume] != set.Spec.VolumeClaimTemplates[0].Name || mounts[folder] == "" || *set.Spec.Replicas != 1 {
		t.Errorf("mounts %v, %d replicas", mounts, *set.Spec.Replicas)
	}
	if *pod.SecurityContext.RunAsUser != 65532 || user != "65532" || !*container.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("it runs as %d, the image as %s", *pod.SecurityContext.RunAsUser, user)
	}
	if *pod.TerminationGracePeriodSeconds < 30 {
		t.Error("SIGTERM has less time than limits.drain and 5 s")
	}
	labels := set.Spec.Template.Labels
	for name, value := range set.Spec.Selector.MatchLabels {
		if labels[name] != value {
			t.Errorf("the set does not find its pods by %s", name)
		}
	}
	for name, value := range service.Spec.Selector {
		if labels[name] != value {
			t.Errorf("the service does not find the pods by %s", name)
		}
	}
	if service.Spec.Ports[0].TargetPort.String() != container.Ports[0].Name || !strings.HasSuffix(container.Env[0].Value, ":7443") || container.Ports[0].ContainerPort != 7443 {
		t.Errorf("the service leads to %v of %v, and flowrun listens on %v", service.Spec.Ports, container.Ports, container.Env)
	}
	backend := ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service
	if backend.Name != service.Name || backend.Port.Name != service.Spec.Ports[0].Name {
		t.Errorf("the ingress leads to %v", backend)
	}
	for old, wrong := range map[string]string{"runAsNonRoot": "runAsNotRoot", "replicas: 1": "replicas: one", "periodSeconds: 10": "period: 10"} {
		if _, _, _, err := manifests(strings.Replace(text, old, wrong, 1)); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

func manifests(text string) (set apps.StatefulSet, service core.Service, ingress networking.Ingress, err error) {
	documents := strings.Split(text, "\n---\n")
	if len(documents) != 3 {
		return set, service, ingress, errors.New("there are not three manifests")
	}
	for i, into := range []any{&set, &service, &ingress} {
		if err := yaml.UnmarshalStrict([]byte(documents[i]), into); err != nil {
			return set, service, ingress, err
		}
	}
	return set, service, ingress, nil
}

// TestNginxPassesWhatFlowrunNeeds parses the file and looks for the words that serve.md
// asks for.
func TestNginxPassesWhatFlowrunNeeds(t *testing.T) {
	t.Parallel()
	text := string(read(t, "contrib/proxy/nginx.conf"))
	parse := func(text string) (*nginx.Config, error) { return nginxparser.NewStringParser(text).Parse() }
	config, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	has := func(name string, parameters ...string) {
		t.Helper()
		for _, d := range config.FindDirectives(name) {
			var got []string
			for _, p := range d.GetParameters() {
				got = append(got, p.GetValue())
			}
			if slices.Equal(got, parameters) {
				return
			}
		}
		t.Errorf("nginx.conf has no %s %s", name, strings.Join(parameters, " "))
	}
	has("proxy_pass", "http://"+listens)
	has("proxy_set_header", "Host", "$host")
	has("proxy_set_header", "X-Forwarded-For", "$proxy_add_x_forwarded_for")
	has("proxy_set_header", "X-Forwarded-Proto", "$scheme")
	has("proxy_buffering", "off")
	has("client_max_body_size", "16m")
	if _, err := parse(strings.Replace(text, "listen 443 ssl;", "listen 443 ssl {", 1)); err == nil {
		t.Error("a block that does not end is taken")
	}
}

// TestCaddyLeadsToFlowrun makes Caddy's own configuration of the file.
func TestCaddyLeadsToFlowrun(t *testing.T) {
	t.Parallel()
	text := read(t, "contrib/proxy/Caddyfile")
	adapt := func(text []byte) ([]byte, error) {
		config, warnings, err := caddyfile.Adapter{ServerType: httpcaddyfile.ServerType{}}.Adapt(text, nil)
		if len(warnings) > 0 {
			t.Errorf("caddy warns: %v", warnings)
		}
		return config, err
	}
	config, err := adapt(text)
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, config); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"dial":"` + listens + `"`, `"flush_interval":-1`, `"host":["flow.example.com"]`} {
		if !strings.Contains(compact.String(), want) {
			t.Errorf("caddy's configuration lacks %s: %s", want, compact.String())
		}
	}
	if _, err := adapt(bytes.Replace(text, []byte("flush_interval"), []byte("flush_intervall"), 1)); err == nil {
		t.Error("a word that Caddy does not have is taken")
	}
}
