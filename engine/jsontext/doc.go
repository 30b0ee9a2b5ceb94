// Package jsontext writes JSON by hand where the same few structs are written again and
// again, or once in a process that lives for some milliseconds: encoding/json learns each
// type that it meets, with all types that are parts of it, before it writes a byte (ADR 83).
// What it writes is what json.Marshal writes, byte for byte.
package jsontext
