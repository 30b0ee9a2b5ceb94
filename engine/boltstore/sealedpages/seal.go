package sealedpages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"golang.org/x/sys/unix"
)

// sealSize is the room of a seal at the begin of its file.
const sealSize = 512

// Identity is what tells a file from every other state of it: which file it is, when
// the kernel saw it change last, and its two meta pages, which name the last
// transaction, its tree and its list of free pages.
type Identity struct {
	Device, Inode    uint64
	Size             int64
	Modified, Change int64 // nanoseconds since 1970
	Metas            [2][64]byte
}

// IdentityOf returns that of an open file, without its metas.
func IdentityOf(file *os.File) (id Identity, err error) {
	info, err := file.Stat()
	if err != nil {
		return id, err
	}
	if !info.Mode().IsRegular() {
		return id, errors.New("not a regular file")
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return id, err
	}
	return Identity{
		Device: uint64(stat.Dev), Inode: stat.Ino, Size: stat.Size, //nolint:gosec,unconvert // other systems; it names a device
		Modified: stat.Mtim.Nano(), Change: stat.Ctim.Nano(),
	}, nil
}

// Seal says that a file was closed well, and how far its pages were compared since.
type Seal struct {
	Identity
	Scrubbed uint64 // the page to go on at
}

var sealMagic = [8]byte{'f', 'r', 's', 'e', 'a', 'l', 0, 1}

// sealed is a seal as it is stored.
type sealed struct {
	Magic [8]byte
	Seal
	Sum uint32 // CRC32C of all before
}

// ErrNoSeal is the error of a file that holds no seal.
var ErrNoSeal = errors.New("no seal")

func (s Seal) encode() ([]byte, error) {
	var data bytes.Buffer
	if err := binary.Write(&data, binary.LittleEndian, struct {
		Magic [8]byte
		Seal
	}{sealMagic, s}); err != nil {
		return nil, err
	}
	sum := crc32.Checksum(data.Bytes(), crc32.MakeTable(crc32.Castagnoli))
	whole := binary.LittleEndian.AppendUint32(data.Bytes(), sum)
	return append(whole, make([]byte, sealSize-len(whole))...), nil
}

// decodeSeal reads what encode has written. The error is ErrNoSeal for anything else.
func decodeSeal(data []byte) (Seal, error) {
	var stored sealed
	n := binary.Size(stored)
	if len(data) < n {
		return Seal{}, ErrNoSeal
	}
	if _, err := binary.Decode(data[:n], binary.LittleEndian, &stored); err != nil {
		return Seal{}, fmt.Errorf("%w: %w", ErrNoSeal, err)
	}
	if stored.Magic != sealMagic || stored.Sum != crc32.Checksum(data[:n-4], crc32.MakeTable(crc32.Castagnoli)) {
		return Seal{}, ErrNoSeal
	}
	return stored.Seal, nil
}

// ReadSeal reads the seal of a file with sums.
func ReadSeal(file *os.File) (Seal, error) {
	data := make([]byte, sealSize)
	if _, err := file.ReadAt(data, 0); err != nil {
		return Seal{}, fmt.Errorf("%w: %w", ErrNoSeal, err)
	}
	return decodeSeal(data)
}

// WriteSeal writes the sums that changed, then the seal. Neither is flushed: what a
// power loss leaves of them is no seal, or sums that do not match, and either means
// that the whole file is read.
func WriteSeal(file *os.File, s Seal, sums *Sums) error {
	if err := sums.write(file); err != nil {
		return err
	}
	data, err := s.encode()
	if err != nil {
		return err
	}
	if _, err := file.WriteAt(data, 0); err != nil {
		return fmt.Errorf("write the seal: %w", err)
	}
	return nil
}
