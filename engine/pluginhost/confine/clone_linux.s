// Functions of the runtime are declared in clone_linux.go without a body: Go wants a file
// of assembly beside them.
