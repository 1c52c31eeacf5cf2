#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What engine/hccl declares of CANN equals a sample of CANN's headers, and CANN's own where configure was given them
# (--with-cann-headers); and the check finds each kind of difference.
set -u
: "${srcdir:=.}"
# shellcheck source=/dev/null
. tests/cann/cann.env # CXX, CANN_HEADERS, as configure found them
here=$srcdir/tests/cann
[ -n "$CXX" ] || {
    echo "no C++ compiler is here, and CANN's headers are C++ (Debian: g++)"
    exit 77
}
export CXX SOURCE=$srcdir
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
status=0

"$here/header_check" "$here/headers-sample" || status=1

# differs FILE SED WORDS : with the sample changed so, the check fails and says WORDS.
differs() {
    rm -rf "$work/headers"
    cp -r "$here/headers-sample" "$work/headers"
    chmod -R u+w "$work/headers"
    sed -i "$2" "$work/headers/$1"
    if cmp -s "$here/headers-sample/$1" "$work/headers/$1"; then
        echo "$1: '$2' changes nothing"
        status=1
    elif "$here/header_check" "$work/headers" >"$work/out" 2>&1; then
        echo "$1: '$2' is not noticed"
        status=1
    elif ! grep -qF "$3" "$work/out"; then
        echo "$1: '$2' fails, but nothing says '$3':"
        head -n 5 "$work/out"
        status=1
    fi
}
differs hccl/hccl_types.h 's/HCCL_DATA_TYPE_FP64 = 10/HCCL_DATA_TYPE_FP64 = 20/' 'value of HCCL_DATA_TYPE_FP64'
differs hccl/hccl_types.h 's/HCCL_E_TIMEOUT = 9/HCCL_E_TIMEOUT = 6/' 'value of HCCL_E_TIMEOUT'
differs hccl/hccl_types.h 's/4108/4104/' 'size of HcclRootInfo'
differs hccl/hccl_types.h 's/uint32_t hcclRdmaTrafficClass;/uint64_t hcclRdmaTrafficClass;/' \
    'place of HcclCommConfig.hcclRdmaTrafficClass'
differs acl/acl_base.h 's/207018/207019/' 'value of ACL_ERROR_RT_DEVICE_OOM'
differs acl/acl_rt.h 's/ACL_EVENT_RECORDED_STATUS_COMPLETE = 1/ACL_EVENT_RECORDED_STATUS_COMPLETE = 2/' \
    'value of ACL_EVENT_RECORDED_STATUS_COMPLETE'
differs acl/acl_rt.h 's/uint32_t rsv\[4\]/uint32_t rsv[5]/' 'size of aclrtPtrAttributes'
differs acl/acl_rt.h 's/aclrtMalloc(void \*\*devPtr, size_t size/aclrtMalloc(void **devPtr, int size/' \
    'signature of aclrtMalloc'
differs hccl/hccl.h 's/HcclAllReduce(void \*sendBuf/HcclAllReduce(const void *sendBuf/' 'signature of HcclAllReduce'
differs hccl/hccl_comm.h 's/HcclCommDestroy(HcclComm comm)/HcclCommClose(HcclComm comm)/' 'HcclCommDestroy'

# An optional function may be absent, and is named.
rm -rf "$work/headers"
cp -r "$here/headers-sample" "$work/headers"
chmod -R u+w "$work/headers"
sed -i '/HcclGetCommAsyncError/d' "$work/headers/hccl/hccl_comm.h"
if ! "$here/header_check" "$work/headers" >"$work/out" 2>&1 || ! grep -q 'absent.*HcclGetCommAsyncError' "$work/out"; then
    echo "headers without HcclGetCommAsyncError do not pass:"
    cat "$work/out"
    status=1
fi

if [ -n "$CANN_HEADERS" ]; then
    "$here/header_check" "$CANN_HEADERS" || status=1
fi
exit $status
