module github.com/flowrun/flowrun/test/oidc

go 1.26.0
