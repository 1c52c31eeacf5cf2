! SPDX-License-Identifier: BSD-3-Clause
! Heat along a rod: each rank has a piece, and an allreduce decides when nothing changes any more.
program heat
    use mpi_f08
    implicit none
    integer, parameter :: cells = 40
    real, parameter :: enough = 1e-5
    real :: now(0:cells + 1), next(cells), change
    integer :: rank, ranks, left, right, steps

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
    right = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
    now = 0
    if (rank == 0) now(0) = 100
    change = 1
    steps = 0
    do while (change > enough .and. steps < 100000)
        call MPI_Sendrecv(now(cells), 1, MPI_REAL, right, 0, now(0), 1, MPI_REAL, left, 0, &
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        call MPI_Sendrecv(now(1), 1, MPI_REAL, left, 1, now(cells + 1), 1, MPI_REAL, right, 1, &
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        next = (now(0:cells - 1) + now(2:cells + 1)) / 2
        change = maxval(abs(next - now(1:cells)))
        now(1:cells) = next
        call MPI_Allreduce(MPI_IN_PLACE, change, 1, MPI_REAL, MPI_MAX, MPI_COMM_WORLD)
        steps = steps + 1
    end do
    if (rank == 0) print '(a, i0, a, i0, a, f8.3)', 'steady after ', steps, ' steps on ', ranks, &
        ' ranks; at the warm end ', now(1)
    call MPI_Finalize()
end program heat
