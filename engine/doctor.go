package engine

// NetworkFileSystem names the network file system that a folder lies on, "" when
// it is on a disk of this machine.
func NetworkFileSystem(dir string) string {
	magic, ok := fileSystemType(dir)
	if !ok {
		return ""
	}
	return networkFileSystems()[magic]
}

// KernelWarning says that this kernel may damage a store, and what helps; ""
// when it does not.
func KernelWarning() string { return kernelWarning() }
