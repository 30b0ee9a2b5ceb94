package openapisim_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/plugins/openapi"
	"github.com/flowrun/flowrun/plugins/openapi/openapisim"
)

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

// answersFit asks a simulator for each operation of a document: the host reads both
// schemas, and what the simulator answers fits the output's.
func answersFit(t *testing.T, text []byte) (operations int) {
	t.Helper()
	service, err := openapi.Read(openapi.Settings{Document: "d"}, openapi.Files{Document: text})
	if err != nil {
		return 0 // one of those that are refused
	}
	sim := openapisim.New(service, simkit.Options{})
	for _, o := range service.Operations {
		action, err := service.Action(o.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := schema.FromJSON(action.Input); err != nil {
			t.Errorf("%s: the host refuses the input: %v", o.Name, err)
		}
		output, err := schema.FromJSON(action.Output)
		if err != nil {
			t.Errorf("%s: the host refuses the output: %v", o.Name, err)
			continue
		}
		request := httptest.NewRequest(o.Method, "http://sim.example.com"+placeholder.ReplaceAllString(o.Path, "1"), nil)
		answer := httptest.NewRecorder()
		sim.ServeHTTP(answer, request)
		if answer.Code < 200 || answer.Code > 299 {
			t.Errorf("%s: the simulator answers %d %s", o.Name, answer.Code, answer.Body)
			continue
		}
		operations++
		if kind := action.Recipe.Answers[0].Kind; kind != recipe.AnswerJSON && kind != recipe.AnswerAny || action.Recipe.Envelope != nil {
			continue
		}
		if _, err := output.Decode(bytes.TrimSpace(answer.Body.Bytes())); err != nil {
			t.Errorf("%s: the answer breaks the schema: %v\n%.300s", o.Name, err, answer.Body)
		}
	}
	return operations
}

func TestIssue16_2_TheSimulatorAnswersByTheDocument(t *testing.T) {
	t.Parallel()
	documents, err := filepath.Glob("../testdata/documents/*.*")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, document := range documents {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		asked += answersFit(t, text)
	}
	if asked < 25 {
		t.Errorf("%d operations were asked only", asked)
	}
}

func TestIssue16_2_EveryOperationOfALargeDocument(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../testdata/github/api.github.com.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	if asked := answersFit(t, text); asked < 1200 {
		t.Errorf("%d operations were asked only", asked)
	}
}

func TestWhatIsNotInTheDocumentIsNotThere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../testdata/documents/petstore30.yaml")
	if err != nil {
		t.Fatal(err)
	}
	service, err := openapi.Read(openapi.Settings{Document: "d"}, openapi.Files{Document: text})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(openapisim.New(service, simkit.Options{}))
	defer server.Close()
	for path, want := range map[string]int{"/pets": 200, "/pets/1": 200, "/pets/1/toys": 404, "/cats": 404} {
		response, err := http.Get(server.URL + path) //nolint:noctx // a test
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s is %d, wanted %d", path, response.StatusCode, want)
		}
	}
}

func TestServePrintsTheConfigOfAConnection(t *testing.T) {
	t.Parallel()
	stdin, end := io.Pipe()
	out, printed := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- openapisim.Serve(t.Context(), `{"document":"../testdata/documents/security.yaml"}`, openapisim.Options{Stdin: stdin, Stdout: printed, Now: time.Now})
	}()
	var config map[string]any
	if err := json.NewDecoder(out).Decode(&config); err != nil {
		t.Fatal(err)
	}
	base, _ := config["base_url"].(string)
	if !strings.HasPrefix(base, "http://127.0.0.1:") || config["token"] == nil || config["api_keys"] == nil || config["token_url"] != base+"/_sim_token" {
		t.Errorf("the config is %v", config)
	}
	response, err := http.Post(base+"/_sim_token", "", nil) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if err := end.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
