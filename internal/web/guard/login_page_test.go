package guard

import (
	"html/template"
	"io"
)

// plainLogin is a login page with all that a LoginView may hold.
func plainLogin(out io.Writer, view LoginView) error {
	return template.Must(template.New("").Parse(plainPage)).Execute(out, view)
}

const plainPage = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Log in - flowrun</title>
{{- if .Again}}<meta http-equiv="refresh" content="0">{{end}}<link rel="stylesheet" href="/static/app.css"></head>
<body class="door"><main>
{{with .Error}}<p role="alert">{{.}}</p>{{end}}
{{with .Hint}}<p>{{.}}</p>{{end}}
{{with .Resend}}<h1>Send the form again?</h1>
<form method="post" action="{{.Path}}">
<input type="hidden" name="csrf" value="{{.CSRF}}">
{{range .Fields}}<input type="hidden" name="{{.Name}}" value="{{.Value}}">{{end}}
<dl>{{range .Shown}}<dt>{{.Name}}</dt><dd>{{.Value}}</dd>{{end}}</dl>
<p><button type="submit">Send it now</button> <a href="{{.Back}}">Leave it</a></p>
</form>
{{else}}<h1>Log in</h1>
<form method="post" action="/login">
<input type="hidden" name="next" value="{{.Next}}">
{{with .Kept}}<input type="hidden" name="kept_path" value="{{.Path}}"><input type="hidden" name="kept_form" value="{{.Text}}">{{end}}
{{with .Link}}<input type="hidden" name="code" value="{{.Code}}"><p>As {{.Who}}, with the scope {{.Scope}}</p>
{{else}}<p><label for="token">Token</label> <input id="token" name="token" type="password" autocomplete="current-password" required autofocus></p>{{end}}
<p><button type="submit">Log in</button></p>
</form>
<p>Open the login link that <code>flowrun serve</code> printed, or paste a token: <code>flowrun tokens create --scope admin</code> makes one.</p>{{end}}
</main></body>
</html>
`
