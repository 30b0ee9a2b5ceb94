package page

import (
	"html/template"
	"io"

	"github.com/flowrun/flowrun/internal/web/guard"
)

// Login writes the page with the login form, in the page's own style.
func Login(w io.Writer, v guard.LoginView) error {
	assets := readAssets()
	parsed, err := template.New("").Funcs(template.FuncMap{
		"asset": func(name string) string { return assetPath(name, assets[name]) }, "icon": icon,
	}).ParseFS(templateFiles, "templates/login.html", "templates/sprite.html")
	if err != nil {
		return err
	}
	return parsed.ExecuteTemplate(w, "login", v)
}
