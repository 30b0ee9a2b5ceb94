package packed

import "hash/crc32"

// The CRC-32 of two texts one after the other is that of the second, and that of the first
// multiplied with x to the number of bits of the second, as polynomials over two elements
// (zlib's crc32_combine). So the sum of a piece is made once, however many streams it is in.

// one is the polynomial 1: the bits stand in reverse order.
const one = uint32(1) << 31

// multiplied returns the product of two polynomials modulo that of CRC-32.
func multiplied(a, b uint32) (product uint32) {
	for bit := one; bit > 0 && a > 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
			a ^= bit
		}
		if b&1 != 0 {
			b = b>>1 ^ crc32.IEEE
		} else {
			b >>= 1
		}
	}
	return product
}

// shiftOf returns x to the number of bits of so many bytes.
func shiftOf(bytes int) uint32 {
	shift, power := one, one>>8 // x to the eighth
	for n := bytes; n > 0; n >>= 1 {
		if n&1 != 0 {
			shift = multiplied(shift, power)
		}
		power = multiplied(power, power)
	}
	return shift
}
