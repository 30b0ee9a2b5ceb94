// Package deploy holds the files of contrib with which flowrun is put up, and with which
// CI looks at workflows, against the readers of those who take them: systemd, Compose,
// Kubernetes, nginx, Caddy, GitHub Actions. It is a module of its own, so that flowrun
// does not have their libraries.
package deploy
