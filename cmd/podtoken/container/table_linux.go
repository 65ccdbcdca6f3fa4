package container

import (
	"errors"
	"fmt"
	"io"

	"github.com/moby/sys/mountinfo"
)

func parseTable(r io.Reader) (points []mountPoint, err error) {
	limited := &io.LimitedReader{R: r, N: maxTable}
	cut := false
	_, err = mountinfo.GetMountsFromReader(limited, func(m *mountinfo.Info) (skip, stop bool) {
		if mayHoldTokens(m.FSType) && !isOtherPods(m.Mountpoint) {
			points = append(points, mountPoint{path: m.Mountpoint, part: isPart(m.Root)})
		}
		cut = len(points) >= maxMounts
		return true, false
	})
	switch {
	case limited.N <= 0 || cut:
		return points[:min(len(points), maxMounts)], fmt.Errorf("the mount table is too large: only a part of it was looked at")
	case err != nil:
		return points, errors.New("the mount table has a line that is not understood") // which is not ours to print
	}
	return points, nil
}
