// Package browser drives the web page of a real `flowrun serve` with a real
// browser. It is a module of its own, so that nothing of it is linked into the
// product; without Chromium its tests are skipped and say so.
package browser
