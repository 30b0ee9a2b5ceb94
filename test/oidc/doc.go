// Package oidc has the built flowrun log in at an OpenID server that others wrote:
// the package oidc-provider, which is certified for OpenID Connect. It is a module
// of its own, for it needs Node.js; without that, or before `npm ci` in this
// folder, its tests are skipped and say so.
//
// server.mjs starts the servers, each with the settings of one test. A person goes
// through the server's own pages to decide about a code; what flowrun sent is read
// from the server.
package oidc
