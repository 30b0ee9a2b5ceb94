// Package blobs runs the built program with large values: a large download through http,
// store and file in bounded memory, kills in the middle of one, and damage. The size is
// FLOWRUN_BLOB_BYTES, 96 MiB where it is not set; `make large` takes 1 GiB.
package blobs
