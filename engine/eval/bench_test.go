package eval

import "testing"

func BenchmarkRun(b *testing.B) {
	env := hostileEnv()
	env["steps"] = map[string]any{"a": map[string]any{"outputs": map[string]any{"total": 700, "flag": false}}}
	env["inputs"] = map[string]any{"dry_run": false}
	env["rows"] = env["rows"].([]any)[:1000]
	for name, source := range map[string]string{
		"path":      `steps.a.outputs.total`,
		"condition": `steps.a.outputs.total > 500 and not inputs.dry_run`,
		"optional":  `steps.a?.outputs?.total ?? 0`,
		"filter":    `filter(rows, .n > 500)`,
	} {
		b.Run(name, func(b *testing.B) {
			program, err := Compile(source)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := program.Run(env, testTime); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	scope := testScope()
	b.ReportAllocs()
	for b.Loop() {
		x, _ := Parse(`len(filter(steps.a.outputs.rows, .visits > 10 and .host != "")) > 0 and not inputs.dry_run`)
		x.Check(scope)
	}
}
